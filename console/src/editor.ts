// The editor: CodeMirror with the language SPARQL, errors at their places, and completion.

import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { SparqlLanguage } from "codemirror-lang-sparql";
import { defaultKeymap, history, historyKeymap, isolateHistory } from "@codemirror/commands";
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionSource } from "@codemirror/autocomplete";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { tags } from "@lezer/highlight";
import { position } from "./sparql";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: tags.string, color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.annotation], color: "var(--number)" },
  { tag: tags.comment, color: "var(--dim)", fontStyle: "italic" },
  { tag: tags.variableName, color: "var(--variable)" },
  { tag: [tags.url, tags.namespace, tags.typeName], color: "var(--iri)" },
]);

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--field)", color: "var(--text)", fontSize: "14px" },
  ".cm-scroller": { fontFamily: "var(--mono)", minHeight: "9rem", maxHeight: "45vh", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", paddingBottom: "1rem" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--dim)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--selection)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "1px solid var(--accent)" },
  "&.cm-focused .cm-nonmatchingBracket": { color: "var(--bad)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--edge)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "18rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionDetail": { color: "var(--dim)", fontStyle: "normal" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

// The style elements of CodeMirror need the nonce of the page's policy.
const nonce = document.querySelector<HTMLMetaElement>("meta[name=style-nonce]")?.content ?? "";

export interface EditorOptions {
  changed: (text: string) => void;
  run: () => void;
  complete: CompletionSource;
}

// Editor is the one view. Each tab has a state of its own, with its own undo history.
export class Editor {
  readonly view: EditorView;
  private readonly extensions: Extension;

  constructor(parent: Element, text: string, o: EditorOptions) {
    this.extensions = [
      EditorView.cspNonce.of(nonce),
      keymap.of([{ key: "Mod-Enter", run: () => (o.run(), true), preventDefault: true }]),
      lineNumbers(), highlightSpecialChars(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(),
      autocompletion({ override: [o.complete], maxRenderedOptions: 60 }), highlightActiveLine(), highlightSelectionMatches(),
      // Tab is not bound, because it must leave the editor.
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
      SparqlLanguage, syntaxHighlighting(colours), theme, EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "Query or update (SPARQL 1.1)", spellcheck: "false", autocapitalize: "off" }),
      EditorView.updateListener.of(update => { if (update.docChanged) o.changed(update.state.doc.toString()); }),
    ];
    this.view = new EditorView({ state: this.newState(text), parent });
  }

  newState(text: string): EditorState {
    return EditorState.create({ doc: text, extensions: this.extensions });
  }

  get text(): string { return this.view.state.doc.toString(); }

  // replace puts a text in as one step, so that undo brings back what was there.
  replace(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: 0 }, annotations: isolateHistory.of("full") });
  }

  // mark shows an error at its place and moves the cursor there.
  mark(line: number, column: number, message: string) {
    const from = Math.min(position(this.text, line, column), this.view.state.doc.length);
    const word = this.view.state.wordAt(from);
    const to = Math.min(word && word.from === from ? word.to : from + 1, this.view.state.doc.length);
    this.view.dispatch(setDiagnostics(this.view.state, [{ from, to, severity: "error", message }]), { selection: { anchor: from }, scrollIntoView: true });
    this.view.focus();
  }

  unmark() {
    this.view.dispatch(setDiagnostics(this.view.state, []));
  }
}
