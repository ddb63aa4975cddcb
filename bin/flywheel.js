#!/usr/bin/env node
// Every node can read this file, so that an old one can say what it lacks.
'use strict';
var manifest = require('../package.json');
var needed = manifest.engines.node.replace('>=', '').split('.').map(Number);
var found = process.versions.node.split('.').map(Number);
var words = process.argv.slice(2);
if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  console.error(
    'error: flywheel needs Node.js ' + needed.join('.') + ' or later; this is ' + process.versions.node + '.',
  );
  process.exitCode = 2;
} else if (words.length === 1 && (words[0] === '--version' || words[0] === '-V'))
  console.log(manifest.version);
else require('../dist/start.cjs');
