/**
 * Loaded into a spawned command before anything else: sends it a signal before or after one of its commits, and sets its clock.
 * Between two commits lie a request, a file or the output at most, so that these points tell all states apart that a kill can leave.
 * With FAULT_TRACES files that take their name or go, and bytes that are sent, are points too.
 */
'use strict';
const fs = require('node:fs');
const Module = require('node:module');
const { Socket } = require('node:net');
const { basename } = require('node:path');

const { writeFileSync } = fs;

const { FAULT_POINT, FAULT_SIGNAL, FAULT_WHEN, FAULT_WHEN_FILE } = process.env;
const { FAULT_COUNT_FILE, FAULT_LIST_FILE, FAULT_CLOCK_AHEAD_MS, FAULT_TRACES } = process.env;
let passed = 0;
/** The file of each commit so far. */
const list = [];
const files = new WeakMap();

function pass() {
  passed += 1;
  if (passed === Number(FAULT_POINT)) process.kill(process.pid, FAULT_SIGNAL);
}

function around(object, name) {
  const own = object[name];
  object[name] = function counted(...args) {
    pass();
    const result = own.apply(this, args);
    pass();
    return result;
  };
}

if (FAULT_TRACES !== undefined) {
  for (const name of ['renameSync', 'rmSync']) around(fs, name);
  around(Socket.prototype, 'write');
}

/** Kills the command at the first commit after which a query finds something. */
function look() {
  if (FAULT_WHEN === undefined) return;
  const Database = require('libsql');
  const database = new Database(FAULT_WHEN_FILE, { readonly: true });
  const found = database.prepare(FAULT_WHEN).get();
  database.close();
  if (found !== undefined) process.kill(process.pid, FAULT_SIGNAL);
}

/** The driver's native part; the rest of it is in the bundle. */
function counting(native) {
  const { databaseExecSync, databaseOpen } = native;
  return {
    ...native,
    databaseOpen(path, ...rest) {
      const database = databaseOpen.call(this, path, ...rest);
      files.set(database, basename(path));
      return database;
    },
    databaseExecSync(sql) {
      if (!/^commit$/i.test(sql)) return databaseExecSync.call(this, sql);
      list.push(files.get(this));
      pass();
      const result = databaseExecSync.call(this, sql);
      pass();
      look();
      return result;
    },
  };
}

const { _load: load } = Module;
Module._load = function loadCounting(request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  return request.startsWith('@libsql/') ? counting(loaded) : loaded;
};

if (FAULT_COUNT_FILE !== undefined) process.on('exit', () => writeFileSync(FAULT_COUNT_FILE, String(passed)));
if (FAULT_LIST_FILE !== undefined)
  process.on('exit', () => writeFileSync(FAULT_LIST_FILE, JSON.stringify(list)));

if (FAULT_CLOCK_AHEAD_MS !== undefined) {
  const { now } = Date;
  Date.now = () => now() + Number(FAULT_CLOCK_AHEAD_MS);
}
