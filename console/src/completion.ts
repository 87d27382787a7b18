// Completion: keywords, prefixes, and the classes and predicates of the store with their counts.

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { keywords } from "./keywords";
import { declared, known } from "./prefixes";
import { beginning, limit, type Named, type Schema } from "./schema";

// place returns what the grammar wants at the end of a text: a class after "a", or a predicate after
// a subject or a semicolon. It looks at the last statement only, which is enough for a suggestion.
export function place(before: string): "class" | "predicate" | "other" {
  const statement = before.replace(/<[^<>\s]*>/g, "I").replace(/"(?:\\.|[^"\\\n])*"/g, "L").replace(/#[^\n]*\n/g, " ")
    .split(/[{}]|\.\s|\.$/).at(-1)!;
  const part = statement.split(";").at(-1)!.trim(), words = part ? part.split(/[\s,]+/) : [];
  const first = statement.includes(";") ? 0 : 1; // the number of words before the predicate
  if (!before.includes("{")) return "other";
  if (words.length === first) return "predicate";
  if (words.length > first && /^(a|rdf:type)$/.test(words[first])) return "class";
  return "other";
}

// completer returns the source of completions for the editor.
export function completer(schema: () => Schema | null) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const word = context.matchBefore(/<[^<>\s]*|[\p{L}_][\p{L}\p{N}_.-]*:[\p{L}\p{N}_.-]*|[\p{L}_][\p{L}\p{N}_-]*/u);
    if (!word && !context.explicit) return null;
    const from = word?.from ?? context.pos, text = context.state.doc.toString();
    const before = text.slice(0, from);
    if (/[?$"'@]$/.test(before) || /#[^\n<>]*$/.test(before)) return null;
    const own = declared(text), prefixes = { ...own, ...known(), ...own }; // those of the text come first, and win
    const options: Completion[] = [];
    const at = place(before);
    const s = schema();
    const names = at === "class" ? s?.classes : at === "predicate" ? s?.predicates : [...s?.classes ?? [], ...s?.predicates ?? []];
    for (const n of names ?? []) options.push(named(n, prefixes, at));
    const rare = await others(at, names?.length ?? 0, word?.text ?? "", prefixes, context);
    for (const n of rare) if (!names?.some(known => known.iri === n.iri)) options.push(named(n, prefixes, at));
    if (at === "predicate") options.push({ label: "a", type: "keyword", detail: "rdf:type", boost: 50 });
    for (const [name, space] of Object.entries(prefixes)) options.push({ label: name + ":", type: "namespace", detail: space, boost: -20, apply: applyName(name + ":", name, space) });
    if (!word?.text.includes(":") && !word?.text.startsWith("<")) for (const k of keywords) options.push({ label: k, type: "keyword", boost: at === "other" ? 0 : -40 });
    return { from, options, validFor: rare.length ? undefined : /^(<[^<>\s]*|[\p{L}\p{N}_.:-]*)$/u };
  };
}

// others seeks the names that begin as the word does, if the schema has not all of them.
async function others(at: string, listed: number, word: string, prefixes: Record<string, string>, context: CompletionContext): Promise<Named[]> {
  if (at === "other" || listed < limit) return [];
  const colon = word.indexOf(":"), space = prefixes[word.slice(0, colon)];
  const begin = word.startsWith("<") ? word.slice(1) : colon >= 0 && space ? space + word.slice(colon + 1) : "";
  if (!begin) return [];
  const control = new AbortController();
  context.addEventListener("abort", () => control.abort());
  return beginning(at === "class" ? "class" : "predicate", begin, control.signal).catch(() => []);
}

// named is a class or predicate, written with a prefix if there is one. Frequent ones come first.
function named(n: Named, prefixes: Record<string, string>, at: string): Completion {
  const boost = (at === "other" ? -10 : 10) + Math.min(Math.log10((n.count ?? 0) + 1), 9);
  const detail = n.count === undefined ? "" : (n.exact === false ? "~" : "") + n.count.toLocaleString();
  for (const [name, space] of Object.entries(prefixes)) {
    const rest = n.iri.slice(space.length);
    if (space && n.iri.startsWith(space) && /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(rest)) {
      return { label: `${name}:${rest}`, type: "property", detail, boost, apply: applyName(`${name}:${rest}`, name, space) };
    }
  }
  // The last part of the IRI finds it, too.
  return { label: `<${n.iri}>`, displayLabel: `<${n.iri}>`, type: "property", detail, boost, apply: `<${n.iri}>` };
}

// applyName puts a prefixed name in, and declares its prefix if the text does not.
const applyName = (label: string, name: string, space: string) => (view: EditorView, _: Completion, from: number, to: number) => {
  const changes = [{ from, to, insert: label }];
  if (declared(view.state.doc.toString())[name] === undefined) changes.unshift({ from: 0, to: 0, insert: `PREFIX ${name}: <${space}>\n` });
  const added = changes.length > 1 ? changes[0].insert.length : 0;
  view.dispatch({ changes, selection: { anchor: from + added + label.length }, userEvent: "input.complete" });
};
