// What a text of SPARQL is, as far as the page must know it before it sends the text.

// bare leaves out comments, IRIs and strings: enough to find the first verb.
const bare = (text: string) =>
  text.replace(/"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|<[^<>"{}|^`\\\s]*>|#[^\n]*/g,
    found => found[0] === "#" ? "" : "<>");

// verb returns the first verb, in lower case; "" if there is none.
export function verb(text: string): string {
  const rest = bare(text).replace(/\b(?:prefix\s+[^\s:]*:\s*<>|base\s*<>)/gi, " ");
  const found = rest.match(/\b(select|ask|construct|describe|insert|delete|load|clear|drop|create|add|move|copy|with)\b/i);
  return found ? found[1].toLowerCase() : "";
}

// undeclared returns the prefixes that a text uses, of those that it may need to declare.
export function undeclared(text: string, has: Record<string, string>, known: Record<string, string>): string[] {
  const used = bare(text).matchAll(/(?<![\p{L}\p{N}_?$:@.%\\-])([a-z][a-z0-9_-]*):/giu);
  return [...new Set([...used].map(found => found[1]))].filter(name => !(name in has) && Object.hasOwn(known, name)).sort();
}

// isUpdate reports whether the text changes data. A text without a verb is a query, whose error the node names.
export const isUpdate = (text: string) => !["select", "ask", "construct", "describe", ""].includes(verb(text));

// position returns the offset in UTF-16 units of a line and a column, which count characters from 1.
export function position(text: string, line: number, column: number): number {
  const all = text.split("\n");
  if (line > all.length) return text.length;
  const before = all.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
  return before + [...all[line - 1]].slice(0, column - 1).join("").length;
}

// firstTab is the text of a new tab.
export const firstText = "SELECT * WHERE {\n  ?s ?p ?o .\n}\nLIMIT 50\n";
