/** Runs the command line in this process, with buffers and a fake service. */
import { join } from 'node:path';
import { createSimulator } from '../../src/chain/local/simulator.js';
import type { CliContext, OpenedService } from '../../src/cli/context.js';
import { openWithJournal } from '../../src/cli/journal/open-service.js';
import { openSqliteJournal } from '../../src/cli/journal/sqlite-journal.js';
import { runCli } from '../../src/cli/program.js';
import { openRemoteService } from '../../src/compose/remote-service.js';
import { FlywheelError } from '../../src/errors/flywheel-error.js';
import { JOURNAL_FILE } from '../../src/files/directories.js';
import type { Uuid } from '../../src/values/ids.js';
import { Secret } from '../../src/values/secret.js';
import { type FakeService, fakeService } from './fake-service.js';
import { asScript, emptyDirectory } from './spawn.js';

export { openRemoteService, openWithJournal };

export const NOW_MS = Date.parse('2026-01-31T12:00:00.000Z');

export interface TestCliOptions {
  readonly env?: Record<string, string>;
  readonly stdin?: string | Uint8Array;
  readonly tty?: { readonly stdin?: boolean; readonly stdout?: boolean; readonly stderr?: boolean };
  /** Columns of both streams. @default 80 */
  readonly columns?: number;
  readonly answers?: readonly string[];
  readonly service?: FakeService;
  readonly opened?: Partial<OpenedService>;
  readonly openers?: Partial<CliContext>;
  readonly home?: string;
  readonly signal?: AbortSignal;
  readonly unwritable?: string;
}

export type TestCli = ReturnType<typeof testCli>;

const unplanned = async (): Promise<never> => {
  throw new FlywheelError('ERR_INTERNAL', 'The test did not plan for this.');
};

export function testCli(options: TestCliOptions = {}) {
  const home = options.home ?? emptyDirectory();
  const service = options.service ?? fakeService();
  const clock = { nowMs: () => NOW_MS };
  const target = { address: 'test:', flywheel: null };
  let count = 0;
  const uuid = (): Uuid => {
    count += 1;
    return `00000000-0000-4000-8000-${String(count).padStart(12, '0')}` as Uuid;
  };
  const journal = (self = 'this', directory = home) =>
    openSqliteJournal({
      ...{ directory, target, clock, ids: { uuid } },
      self,
    });
  let written = { stdout: '', stderr: '' };
  let questions: string[] = [];
  const answers = [...(options.answers ?? [])];
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      written[name] += text;
    },
    flush: async () => options.unwritable ?? null,
    isTTY: options.tty?.[name] === true,
    columns: options.columns ?? 80,
    closed: false,
  });
  const context: CliContext = {
    io: {
      stdin: {
        isTTY: options.tty?.stdin === true,
        chunks: async function* () {
          yield Buffer.from(options.stdin ?? '');
        },
      },
      stdout: stream('stdout'),
      stderr: stream('stderr'),
      prompt: async (question) => {
        // Joins the lines that the terminal's width has split.
        questions.push(question.replaceAll('\n   ', ' '));
        return answers.shift() ?? null;
      },
    },
    env: options.env ?? {},
    clock,
    sleep: async () => undefined,
    cwd: home,
    home,
    version: '0.0.0-test',
    platform: 'linux',
    nodeVersion: 'v22.0.0',
    self: 'this',
    signal: options.signal ?? new AbortController().signal,
    openService: async () => {
      let opened = await journal();
      return {
        kind: 'embedded',
        service: service.service,
        credential: new Secret('fk_test'),
        chain: null,
        isOnThisMachine: true,
        explorer: null,
        sender: null,
        walletChain: unplanned,
        trusted: async () => null,
        pins: null,
        confirm: () => undefined,
        symbol: null,
        simulator: async () => createSimulator(),
        foresight: null,
        recovery: null,
        operations: { directory: home, ...target },
        takenBack: 0,
        journal: async () => opened,
        locate: null,
        copyJournal: async () => {
          const directory = emptyDirectory();
          opened.copyTo(join(directory, JOURNAL_FILE));
          opened.close();
          opened = await journal('this', directory);
        },
        close: async () => opened.close(),
        ...options.opened,
      };
    },
    openLocal: unplanned,
    startServer: unplanned,
    startLocalRpc: unplanned,
    checkRpc: unplanned,
    effectiveSettings: async (settings) => settings,
    dataChain: async () => null,
    dataPins: async () => null,
    register: unplanned,
    openDatabase: unplanned,
    ...options.openers,
  };
  return {
    context,
    home,
    service,
    /** The journal on disk in `home`; the caller closes it. @param self - the process that opens it. @default this one */
    journal,
    pending: async () => {
      const opened = await journal();
      const pending = opened.pending().map(({ kind, state }) => `${kind} ${state}`);
      opened.close();
      return pending;
    },
    run: async (...words: string[]) => {
      written = { stdout: '', stderr: '' };
      questions = [];
      const exit = await runCli(context, options.tty?.stdout === true ? words : asScript(words));
      return { exit, ...written, questions };
    },
  };
}
