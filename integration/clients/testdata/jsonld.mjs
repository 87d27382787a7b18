// Converts JSON-LD on standard input to N-Quads with jsonld.js.

import { readFileSync } from 'node:fs';
import jsonld from 'jsonld';

process.stdout.write(await jsonld.toRDF(JSON.parse(readFileSync(0, 'utf8')), { format: 'application/n-quads' }));
