/** What `flywheel doctor` looks at. A check never changes anything; a repair is asked for by its name. */
import { accessSync, constants, statSync } from 'node:fs';
import { BLOCKHASH_LIFETIME_BLOCKS } from '../../chain/chain.js';
import type { DatabaseStatus } from '../../contract/database-admin.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { loadedNatives } from '../../files/native-packages.js';
import { fileProblem } from '../../files/read-file.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { callWith } from '../send.js';
import { shellLine } from '../shell-line.js';
import type { KeypairSource } from '../wallet/keypair-source.js';
import { checkFiles, repairModes } from './check-files.js';
import { checkMachine } from './check-machine.js';
import { checkRpc } from './check-rpc.js';
import { check, type Finding } from './finding.js';

/** Clocks that differ by more than this make dates and daily caps surprising. */
const MAX_CLOCK_SKEW_MS = 30_000;
const OTHERS = 0o077;

/** A directory that only the user can use; one that is missing is fine when something makes it later. */
function checkDirectory(path: string, platform: string): string {
  try {
    const { mode } = statSync(path);
    if (platform !== 'win32' && (mode & OTHERS) !== 0) {
      throw new FlywheelError('ERR_CONFIG_INVALID', `${path}: other users can access this directory.`, {
        hint: `Run: ${shellLine(['chmod', '700', path])}`,
      });
    }
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return path;
  } catch (error) {
    if (error instanceof FlywheelError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return `${path} (not created yet)`;
    throw new FlywheelError('ERR_CONFIG_INVALID', `${path}: ${fileProblem(error)}.`, { cause: error });
  }
}

function checkKey(opened: OpenedService, session: Session): string {
  if (opened.credential === null) throw new FlywheelError('ERR_UNAUTHORIZED', 'No API key.');
  const { source } = session.settings.apiKey;
  if (source !== 'default') return `from the ${source}`;
  return opened.isOnThisMachine ? 'the one that `local init` made' : 'the one that this machine keeps';
}

/** Asks for the current batch, which any good key may, and compares clocks on the way. */
async function checkService(session: Session, opened: OpenedService): Promise<readonly Finding[]> {
  let serverTimeMs: number | undefined;
  const service = await check('service', async () => {
    const reply = await opened.service.currentBatch(callWith(session, opened));
    serverTimeMs = reply.meta.serverTimeMs;
    return reply.value === null
      ? 'answers; no batch in progress'
      : `answers; batch ${reply.value.id} is ${reply.value.status}`;
  });
  const { value: apiUrl } = session.settings.apiUrl;
  const found =
    apiUrl === null || !service.ok ? [service] : [service, await check('tls', () => tlsOf(apiUrl))];
  const seen = serverTimeMs;
  if (seen === undefined) return found;
  const clock = await check('clock', () => {
    const skewMs = session.context.clock.nowMs() - seen;
    if (Math.abs(skewMs) <= MAX_CLOCK_SKEW_MS) return 'agrees with the service';
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `The clock of this machine differs from the service's by ${Math.round(skewMs / 1_000)} s.`,
      {
        hint: 'Set the clock of this machine.',
      },
    );
  });
  return [...found, clock];
}

/** The client speaks plain http to this machine only, and answers nobody whose certificate does not hold. */
const tlsOf = (apiUrl: string): string =>
  apiUrl.startsWith('https:') ? 'the certificate is valid' : 'not needed on this machine';

/** Runs all checks that apply to the settings. */
export async function runChecks(session: Session): Promise<readonly Finding[]> {
  const { context, settings } = session;
  const findings: Finding[] = [
    await check('version', () => context.version),
    await check('target', () => settings.apiUrl.value ?? 'the embedded engine'),
    await check('config directory', () => checkDirectory(settings.configDir.value, context.platform)),
  ];
  if (settings.apiUrl.value === null)
    findings.push(
      await check('data directory', () => checkDirectory(settings.dataDir.value, context.platform)),
    );
  findings.push(...checkFiles('config files', settings.configDir.value, context.platform));
  if (settings.apiUrl.value === null)
    findings.push(...checkFiles('data files', settings.dataDir.value, context.platform));
  const database = await checkDatabase(session);
  findings.push(...database.findings, ...(await checkMachine(session)));
  if (settings.keypair.value !== null) findings.push(await checkKeypair(session, settings.keypair.value));
  const rpc = await checkRpc(session);
  if (database.several !== null) return [...findings, ...rpc, await checkNone(database.several)];
  return [
    ...findings,
    ...rpc,
    ...(await checkOpened(
      session,
      rpc.every(({ ok }) => ok),
    )),
  ];
}

/** Of several projects none is meant: that is nothing wrong, and each is looked at by its name. */
const checkNone = ({ count, first }: DatabaseStatus['projects']): Promise<Finding> => {
  const names = first.map(({ name, symbol }) => name ?? symbol).join(', ');
  return check(
    'projects',
    () => `${count} (${names}${count > first.length ? ', …' : ''}); add --project NAME to check one`,
  );
};

/** The database that holds the flywheels, if there is one; or that the one that is named is not used, and why. */
async function checkDatabase({ context, settings }: Session): Promise<{
  readonly findings: readonly Finding[];
  /** The projects, where there are several and none is named. */
  readonly several: DatabaseStatus['projects'] | null;
}> {
  const { value: address } = settings.database;
  if (address === null) return { findings: [], several: null };
  let several: DatabaseStatus['projects'] | null = null;
  const isNamed = settings.project.value !== null || settings.apiKey.value !== null;
  const findings = [
    await check('database', async () => {
      const { database } = await context.effectiveSettings(settings);
      if (database.value === null)
        return `not used: ${settings.dataDir.value} has a project on the embedded ledger, and ${address.name} may be for other programs`;
      const { serverVersion, latencyMs, schema, projects } = await (
        await context.openDatabase(settings)
      ).status();
      if (projects.count > 1 && !isNamed) several = projects;
      const size = `${projects.count} ${projects.count === 1 ? 'project' : 'projects'}`;
      if (schema.upToDate || schema.version === 0)
        return `${address.shown} by ${address.name}, PostgreSQL ${serverVersion}, ${latencyMs} ms away, schema version ${schema.version}, ${size}`;
      throw new FlywheelError(
        'ERR_STORE_VERSION_MISMATCH',
        `${address.shown} has schema version ${schema.version}, but this version of flywheel needs ${schema.needed}.`,
      );
    }),
  ];
  return { findings, several };
}

/** The service, and the chain with it; where the RPC is at fault it is looked at without. */
async function checkOpened(session: Session, withChain: boolean): Promise<readonly Finding[]> {
  const { context, settings } = session;
  const opening = withChain
    ? session.service()
    : context.openService({
        ...settings,
        rpcUrl: { value: [], source: 'default' },
        rpcQuorum: { value: 1, source: 'default' },
      });
  const opened = await opening.catch(() => undefined);
  if (opened === undefined) return [await check('service', async () => (await opening).kind)];
  try {
    const findings = [
      await check('api key', () => checkKey(opened, session)),
      ...(await checkService(session, opened)),
    ];
    findings.push(await check('native parts', () => nativeParts(opened)));
    const { chain } = opened;
    if (chain === null) return findings;
    const height = async (): Promise<string> => {
      const { lastValidBlockHeight } = await chain.latestBlockhash();
      return `readable, block height ${lastValidBlockHeight - BLOCKHASH_LIFETIME_BLOCKS}`;
    };
    return [...findings, await check('chain', height)];
  } finally {
    // The session closes its own.
    if (!withChain) await opened.close();
  }
}

/** Loads what tries a batch out before it is signed; that of the database has been loaded by then. */
async function nativeParts(opened: OpenedService): Promise<string> {
  await opened.simulator();
  const names = loadedNatives().map(({ name, version }) => `${name} ${version}`);
  return ['database and virtual machine can be loaded', ...names].join(', ');
}

const checkKeypair = (session: Session, location: KeypairSource): Promise<Finding> =>
  check('keypair', async () => {
    const { loadKeypair } = await import('../wallet/load-keypair.js');
    return (await loadKeypair(session.context, location)).address;
  });

/** Takes what is the user's own from others. */
export function repairFiles({ context, settings }: Session): readonly Finding[] {
  const isHere = settings.apiUrl.value === null;
  const directories = [settings.configDir.value, ...(isHere ? [settings.dataDir.value] : [])];
  return repairModes(directories, context.platform);
}
