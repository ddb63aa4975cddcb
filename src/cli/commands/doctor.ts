/** `flywheel doctor`: checks settings, files, service and chain. Changes nothing. */
import { BLOCKHASH_LIFETIME_BLOCKS } from '../../chain/chain.js';
import { EXIT } from '../../errors/exit-codes.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { defineCommand, type Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { check, checkFiles, checkRpc, type Finding } from '../doctor-checks.js';
import { ofRevokedKey, withPlace } from '../hints.js';
import { loadKeypair } from '../load-keypair.js';
import { safeLine } from '../output/safe-text.js';
import { indented } from '../output/table.js';
import { callWith } from '../send.js';
import { statusOf } from '../views/batch.js';
import { countText, tokensText } from '../views/unit.js';

function keyText(opened: OpenedService, session: Session): string {
  if (opened.credential === null) throw new FlywheelError('ERR_UNAUTHORIZED', 'No API key.');
  const { source } = session.settings.apiKey;
  return `from the ${source === 'default' ? 'data directory' : source}`;
}

type Look = (name: string, tell: () => string | Promise<string>) => Promise<void>;

/** Requests the current batch, which every valid key may read. */
async function serviceText(session: Session, opened: OpenedService): Promise<string> {
  const { value } = await opened.service.currentBatch(callWith(session, opened));
  return `answers; ${value === null ? 'no batch in progress' : `batch ${value.id} ${statusOf(value)}`}`;
}

async function runChecks(session: Session): Promise<readonly Finding[]> {
  const { context, settings } = session;
  const { platform } = context;
  const [config, data] = [settings.configDir.value, settings.dataDir.value];
  const isHere = settings.apiUrl.value === null;
  const { value: keypair } = settings.keypair;
  const found: Finding[] = [];
  const look: Look = async (name, tell) => {
    const asked = async () => tell();
    const explain = async (error: unknown) => {
      throw withPlace(await ofRevokedKey(error, session), settings);
    };
    found.push(await check(name, () => asked().catch(explain)));
  };
  await look('version', () => `${context.version}, node ${context.nodeVersion} on ${platform}`);
  await look('target', () => settings.apiUrl.value ?? 'the embedded engine');
  found.push(...checkFiles('config files', config, platform));
  if (isHere) found.push(...checkFiles('data files', data, platform));
  const several = await checkDatabase(session, look);
  if (keypair !== null) await look('keypair', async () => (await loadKeypair(context, keypair)).address);
  const rpc = await checkRpc(session);
  found.push(...rpc);
  const isReadable = rpc.every(({ ok }) => ok);
  if (several === null) await checkOpened(session, isReadable, look);
  else await look('projects', () => several);
  return found;
}

/**
 * Checks the database, or says why it is not used.
 * @returns the projects, if there are several and none is selected: no problem, but only one at a time can be checked
 */
async function checkDatabase({ context, settings }: Session, look: Look): Promise<string | null> {
  const { value: address } = settings.database;
  if (address === null) return null;
  let several: string | null = null;
  const isNamed = settings.project.value !== null || settings.apiKey.value !== null;
  await look('database', async () => {
    const opened = await context.openDatabase(settings);
    const { serverVersion, latencyMs, schema, projects } = await opened.status();
    const { count, first } = projects;
    const names = first.map(({ name, symbol }) => name ?? symbol).join(', ');
    if (count > 1 && !isNamed)
      several = `${count} (${names}${count > first.length ? ', …' : ''}); add --project NAME to check one`;
    if (schema.upToDate || schema.version === 0)
      return `${address.shown} by ${address.name}, PostgreSQL ${serverVersion}, ${latencyMs} ms away, schema version ${schema.version}, ${countText(count, 'project')}`;
    throw new FlywheelError(
      'ERR_STORE_VERSION_MISMATCH',
      `${address.shown} has schema version ${schema.version}, but this version of flywheel needs ${schema.needed}.`,
    );
  });
  return several;
}

/** Checks the service and its chain. After a failed RPC check nothing more is asked of the chain. */
async function checkOpened(session: Session, withChain: boolean, look: Look): Promise<void> {
  const opening = session.service();
  const opened = await opening.catch(() => undefined);
  if (opened === undefined) {
    await look('service', async () => (await opening).kind);
    return;
  }
  await look('api key', () => keyText(opened, session));
  await look('service', () => serviceText(session, opened));
  await look('native parts', () => nativeParts(opened));
  if (!withChain) return;
  const { kind, chain, pins } = opened;
  if (session.settings.apiUrl.value === null) await look('funds', () => fundsText(session));
  else if (pins === null) await look('project', () => 'not pinned, so its batches cannot be approved here');
  if (chain === null && kind === 'embedded') return;
  await look('chain', async () => {
    if (chain === null) return 'no RPC node is set, so batches cannot be checked or approved here';
    const { lastValidBlockHeight } = await chain.latestBlockhash();
    return `readable, block height ${lastValidBlockHeight - BLOCKHASH_LIFETIME_BLOCKS}`;
  });
}

/** Whether the project of this machine can run a batch. */
async function fundsText(session: Session): Promise<string> {
  const { balances, pipelines, symbol, vaultAddress, operator } = await (await session.local()).vault();
  const isEmpty = Number(balances.vault.tokens) === 0;
  const lasts = countText(Number(pipelines.lasts), 'pipeline');
  if (!isEmpty && pipelines.lasts !== '0')
    return `${tokensText(balances.vault.tokens, symbol)} in the vault; the SOL covers ${lasts}`;
  const problem = isEmpty
    ? `The vault ${vaultAddress} has no tokens.`
    : pipelines.atOnce === 0
      ? `The operator ${operator} has too little SOL for a batch.`
      : `The vault ${vaultAddress} has too little SOL for a new recipient.`;
  throw new FlywheelError('ERR_INSUFFICIENT_FUNDS', problem, { hint: 'Show balances: `flywheel vault`' });
}

/** Loads the virtual machine that simulates batches. The native part of the database is loaded already. */
async function nativeParts(opened: OpenedService): Promise<string> {
  await opened.simulator();
  return 'SQLite and the Solana virtual machine are loaded';
}

const BEHIND_MARK = '     ';

const marked = (mark: string, text: string, width: number): readonly string[] =>
  indented(BEHIND_MARK, text, width).map((line, at) =>
    at === 0 ? `${mark} ${line.slice(BEHIND_MARK.length)}` : line,
  );

export const commands = {
  doctor: defineCommand({
    run: async (session) => {
      const findings = await runChecks(session);
      const checks = findings.map(({ exit: _exit, ...finding }) => finding);
      session.output.result({ ok: checks.every(({ ok }) => ok), checks }, (style) =>
        checks.flatMap(({ name, ok, detail, hint }) => [
          ...marked(ok ? style.good('ok  ') : style.bad('fail'), `${name}: ${detail}`, style.width),
          // Not wrapped: most hints end in a command to copy.
          ...(hint === undefined ? [] : [`${BEHIND_MARK}${safeLine(hint)}`]),
        ]),
      );
      return findings.find(({ ok }) => !ok)?.exit ?? EXIT.done;
    },
    details: [
      'For a project of this machine, also checks that tokens and SOL suffice for a batch.',
      'With a remote API, also checks each RPC node: reachable, Solana, cluster, slots behind, Squads program.',
      'Lists files that other users can read or own, and links.',
      'Changes nothing. Exits with the code of the first problem, or 0.',
    ],
    output: [
      '{ "ok": true|false, "checks": [ { "name", "ok", "detail", "hint"?, "error"?, "rpc"? } ] }',
      '"rpc" of each RPC node: { "url", "source", "cluster", "genesisHash", "slot", "slotsBehind", "version", "latencyMs", "clockAheadMs" }',
    ],
    examples: ['flywheel doctor', 'flywheel doctor --rpc-url devnet'],
  }),
};
