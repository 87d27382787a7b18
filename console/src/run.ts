// Runs the text of the editor and keeps its answer.

import { ask, json, lines, url } from "./api";
import { splitTriple } from "./terms";
import { verb } from "./sparql";

// An answer is kept up to these limits. Then the page hangs up, which ends the query on the node.
const maxRows = 100_000, maxText = 64 << 20;

export interface Plan {
  operator: string;
  detail?: string;
  estimate: number | null;
  rows: number;
  reads: number;
  nanos: number;
  memory?: number;
  spilled?: number;
  inputs: Plan[];
}

export interface Explanation { ran: boolean; plan: Plan; rows: number; rowsRead: number; seconds: number; planSeconds: number }

// Answer is one of the kinds. A row is a line of TSV; a triple has the columns subject, predicate and object.
export type Answer =
  | { kind: "rows" | "triples"; vars: string[]; rows: string[]; more: boolean }
  | { kind: "boolean"; value: boolean }
  | { kind: "updated"; added: number; deleted: number; repeated: boolean }
  | { kind: "plan"; explanation: Explanation };

// query runs a query. progress is called with the answer while its rows arrive.
export async function query(text: string, signal: AbortSignal, progress: (a: Answer) => void): Promise<Answer> {
  const form = { query: text };
  const what = verb(text);
  if (what === "ask") {
    const { boolean } = await json<{ boolean: boolean }>("sparql", { form, signal, accept: "application/sparql-results+json" });
    return { kind: "boolean", value: boolean };
  }
  const triples = what === "construct" || what === "describe";
  const response = await ask("sparql", { form, signal, accept: triples ? "application/n-triples" : "text/tab-separated-values" });
  const answer: Answer = triples ? { kind: "triples", vars: ["subject", "predicate", "object"], rows: [], more: false }
    : { kind: "rows", vars: [], rows: [], more: false };
  let size = 0, head = !triples;
  for await (const line of lines(response, n => size += n)) {
    if (head) {
      answer.vars = line ? line.split("\t").map(name => name.slice(1)) : [];
      head = false;
      continue;
    }
    if (answer.rows.length === maxRows || size > maxText) {
      answer.more = true;
      break;
    }
    answer.rows.push(triples ? splitTriple(line) : line.replace(/\r$/, ""));
    if (answer.rows.length % 500 === 0) progress(answer);
  }
  return answer;
}

export async function update(text: string, signal: AbortSignal): Promise<Answer> {
  const done = await json<{ added?: number; deleted?: number; repeated?: boolean }>("sparql", { form: { update: text }, signal });
  return { kind: "updated", added: done.added ?? 0, deleted: done.deleted ?? 0, repeated: !!done.repeated };
}

export async function explain(text: string, run: boolean, signal: AbortSignal): Promise<Answer> {
  const explanation = await json<Explanation>("sparql", { form: { query: text, explain: run ? "run" : "true" }, signal });
  return { kind: "plan", explanation };
}

// stream asks the node for a query's answer in a format, as a blob.
export const stream = async (text: string, format: string, signal: AbortSignal): Promise<Blob> =>
  (await ask(url("sparql"), { form: { query: text, format }, signal })).blob();
