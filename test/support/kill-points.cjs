/**
 * Loaded into a spawned command before anything else: kills it before or after one of the things by which it leaves a trace, which
 * are files that take their name, commits of a database, and bytes that are sent.
 */
'use strict';
const fs = require('node:fs');
const Module = require('node:module');
const { Socket } = require('node:net');

const { KILL_POINT, KILL_COUNT_FILE } = process.env;
const { writeFileSync } = fs;
let passed = 0;

function pass() {
  passed += 1;
  if (passed === Number(KILL_POINT)) process.kill(process.pid, 'SIGKILL');
}

function around(object, name, isTrace = () => true) {
  const own = object[name];
  object[name] = function counted(...args) {
    if (!isTrace(args)) return own.apply(this, args);
    pass();
    const result = own.apply(this, args);
    pass();
    return result;
  };
}

around(fs, 'renameSync');
around(fs, 'rmSync');
around(Socket.prototype, 'write');

const { _load: load } = Module;
const known = new WeakSet();
Module._load = function loadCounting(request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  if (!request.startsWith('@libsql/') || known.has(loaded)) return loaded;
  const native = { ...loaded };
  around(native, 'databaseExecSync', ([sql]) => /^commit$/i.test(sql));
  known.add(native);
  return native;
};

if (KILL_COUNT_FILE !== undefined) process.on('exit', () => writeFileSync(KILL_COUNT_FILE, String(passed)));
