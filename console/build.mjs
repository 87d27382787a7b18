// Builds the console into internal/server/console/built, which is part of the repository.
//
//   node build.mjs           writes it
//   node build.mjs --check   fails if what is there is not the build of this source
//   node build.mjs --sizes   prints the size of each file, plain and compressed by gzip

import { build } from "esbuild";
import { readFileSync, readdirSync, mkdirSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = join(here, "../internal/server/console/built");

const result = await build({
  absWorkingDir: here,
  entryPoints: { console: "src/main.tsx", style: "src/style.css" },
  outdir: out,
  bundle: true,
  splitting: true, // graphs and charts are loaded when they are wanted
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  chunkNames: "[name]-[hash]",
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
  write: false,
});
const files = new Map(result.outputFiles.map(f => [f.path.slice(out.length + 1), Buffer.from(f.contents)]));
files.set("licenses.txt", Buffer.from(licenses(Object.keys(result.metafile.inputs))));
files.set("index.html", readFileSync(join(here, "src/index.html")));

if (process.argv.includes("--check")) {
  const there = existsSync(out) ? readdirSync(out) : [];
  const wrong = [...new Set([...files.keys(), ...there])].filter(name =>
    !files.has(name) || !there.includes(name) || !readFileSync(join(out, name)).equals(files.get(name)));
  if (wrong.length) {
    console.error(`internal/server/console/built is not the build of console/src: ${wrong.join(", ")}; run "make console"`);
    process.exit(1);
  }
  console.log("internal/server/console/built is the build of console/src");
} else {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const [name, content] of files) writeFileSync(join(out, name), content);
}
if (process.argv.includes("--sizes")) {
  for (const [name, content] of [...files].sort()) {
    console.log(`${name.padEnd(28)} ${String(content.length).padStart(8)} ${String(gzipSync(content, { level: 9 }).length).padStart(8)}`);
  }
}

// licenses returns the licences of the packages whose files are in the build.
function licenses(inputs) {
  const packages = new Set(inputs.map(file => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]).filter(Boolean));
  const texts = [...packages].sort().map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));
    const file = readdirSync(join(here, folder)).find(f => /^licen[cs]e/i.test(f));
    if (!file) throw new Error(`${name} has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(here, folder, file), "utf8").trim()}\n`;
  });
  return `The console of trefoil contains these packages.\n\n${texts.join("\n----\n\n")}`;
}
