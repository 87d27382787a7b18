#!/usr/bin/env bash
# SHACL: a measurement that is NaN passes sh:minInclusive in Jena and sh:maxInclusive in pySHACL; Jena finds -0.0 below 0.
#
# Guess:   NaN is neither above nor below anything, so that it violates each bound, in every engine.
# Seen:    sh:minInclusive 0 and sh:maxInclusive 0 on "NaN"^^xsd:double: Jena 5.6.0 has no violation of the first, pySHACL 0.40.1 none
#          of the second, pyrudof 0.3.35 finds both. "-0.0"^^xsd:double violates sh:minInclusive 0 in Jena only.
#          Jena orders doubles as Java does (NaN above all, -0.0 below 0.0).
# Matters: NaN is how sensors and tables say "missing". The shape that was to keep it out lets it in, and one NaN makes NaN of each
#          SUM and AVG later; values rounded to -0.0 are refused.
# Instead: give a shape both bounds, of which one finds NaN in each of these engines; or refuse it by itself:
#          sh:not [ sh:in ("NaN"^^xsd:double "NaN"^^xsd:float) ].
# Source:  SHACL, section on value ranges (a violation unless the SPARQL comparison returns true); XML Schema 1.1 Datatypes,
#          section 3.3.5 (NaN is not comparable, and both zeros are equal).
# Needs:   JDK 17 or later with Maven, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' html5rdf==1.2.1 importlib_metadata==10.2.0 isodate==0.7.2 lazy-importer==0.1.0 owlrl==7.6.2 packaging==26.4 prettytable==3.18.0 pyparsing==3.3.3 wcwidth==0.9.4 zipp==4.1.2 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'pyshacl==0.40.1' 'rdflib==7.6.0' 'pyrudof==0.3.35'
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.jena</groupId><artifactId>jena-shacl</artifactId><version>5.6.0</version></dependency></dependencies></project>
END
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory=lib >/dev/null
cat >Bounds.java <<'END'
import org.apache.jena.graph.Graph;
import org.apache.jena.riot.*;
import org.apache.jena.shacl.ShaclValidator;
import java.nio.file.*;
public class Bounds {
    public static void main(String[] arguments) throws Exception {
        StringBuilder line = new StringBuilder("Jena");
        for (String pair : Files.readAllLines(Path.of("cases"))) {
            Graph data = RDFParser.fromString(pair.split("\t")[0], Lang.TTL).toGraph(), shape = RDFParser.fromString(pair.split("\t")[1], Lang.TTL).toGraph();
            line.append(' ').append(ShaclValidator.get().validate(shape, data).conforms() ? "conforms" : "violates");
        }
        System.out.println(line);
    }
}
END
cat >bounds.py <<'END'
import logging, pyrudof, pyshacl, rdflib
logging.disable(logging.CRITICAL)
prefixes = "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
cases = [(prefixes + ':a :p "%s"^^xsd:double .' % value, prefixes + ":S a sh:NodeShape; sh:targetNode :a; sh:property [ sh:path :p; sh:%sInclusive 0 ] ." % bound)
         for value in ("NaN", "-0.0") for bound in ("min", "max")]
open("cases", "w").write("".join("%s\t%s\n" % pair for pair in cases))
def by_rudof(data, shape):
    rudof = pyrudof.Rudof(pyrudof.RudofConfig())
    rudof.read_data(data)
    rudof.read_shacl(shape)
    return rudof.validate_shacl().conforms
def by_pyshacl(data, shape):
    return pyshacl.validate(rdflib.Graph().parse(data=data, format="turtle"), shacl_graph=rdflib.Graph().parse(data=shape, format="turtle"))[0]
for name, validate in ("pyrudof", by_rudof), ("pySHACL", by_pyshacl):
    print(name, *("conforms" if validate(*pair) else "violates" for pair in cases))
END
seen=$(v/bin/python -W ignore bounds.py && java -cp 'lib/*' Bounds.java 2>/dev/null)
echo "NaN min, NaN max, -0.0 min, -0.0 max"
echo "$seen"
want='pyrudof violates violates conforms conforms
pySHACL violates conforms conforms conforms
Jena conforms violates violates conforms'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
