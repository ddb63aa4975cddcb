#!/usr/bin/env node
// Every node can read this file, so that an old one can say what it lacks.
'use strict';
var manifest = require('../package.json');
var needed = manifest.engines.node.replace('>=', '').split('.').map(Number);
var found = process.versions.node.split('.').map(Number);

function isVersionPrinted() {
  var words = process.argv.slice(2);
  if (words.length !== 1 || (words[0] !== '--version' && words[0] !== '-V')) return false;
  try {
    require('fs').writeSync(1, manifest.version + '\n');
    return true;
  } catch (error) {
    // The program says why it cannot be printed.
    return false;
  }
}

if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  console.error(
    'error: flywheel needs Node.js ' + needed.join('.') + ' or later; this is ' + process.versions.node + '.',
  );
  process.exitCode = 2;
} else if (!isVersionPrinted()) require('../dist/start.cjs');
