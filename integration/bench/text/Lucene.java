// Measures Lucene on the literals of a file: java -cp LIB Lucene.java LITERALS INDEX SEARCHES KIND QUERY...
import java.nio.file.*;
import java.util.*;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.*;
import org.apache.lucene.store.*;

public class Lucene {
    public static void main(String[] args) throws Exception {
        var analyzer = new StandardAnalyzer();
        var directory = new MMapDirectory(Path.of(args[1]));
        var config = new IndexWriterConfig(analyzer);
        config.setRAMBufferSizeMB(256);
        long begun = System.nanoTime();
        try (var writer = new IndexWriter(directory, config); var lines = Files.lines(Path.of(args[0]))) {
            for (var line : (Iterable<String>) lines::iterator) {
                var document = new Document();
                document.add(new TextField("text", line, Field.Store.YES));
                writer.addDocument(document);
            }
            writer.commit();
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        try (var reader = DirectoryReader.open(directory)) {
            var searcher = new IndexSearcher(reader);
            long tokens = searcher.collectionStatistics("text").sumTotalTermFreq(), stored = 0, all = 0;
            for (var name : directory.listAll()) {
                long size = directory.fileLength(name);
                all += size;
                if (name.endsWith(".fdt") || name.endsWith(".cfs")) stored += size;
            }
            System.out.printf("build, one thread, with commit\t%,d tokens/s (%d tokens, %.1f s)%n", (long) (tokens / seconds), tokens, seconds);
            System.out.printf("bytes a token, stored literals included\t%.2f (.fdt and .cfs: %.2f)%n", (double) all / tokens, (double) stored / tokens);
            int searches = Integer.parseInt(args[2]);
            for (int i = 3; i < args.length; i += 2) {
                var times = new double[searches];
                for (int k = -3 * searches; k < searches; k++) {
                    begun = System.nanoTime();
                    var parser = new QueryParser("text", analyzer);
                    var hits = searcher.search(parser.parse(args[i + 1]), 10);
                    for (var hit : hits.scoreDocs) searcher.storedFields().document(hit.doc);
                    if (k >= 0) times[k] = (System.nanoTime() - begun) / 1e3;
                }
                Arrays.sort(times);
                System.out.printf("top 10, %s\tp50 %.0f µs, p95 %.0f µs%n", args[i], times[searches / 2], times[searches * 95 / 100]);
            }
        }
    }
}
