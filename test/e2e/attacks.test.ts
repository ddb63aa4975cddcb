/** One attack of each class against the whole program, with a lying node and a lying service: exit 9, and nothing is signed. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VersionedTransaction } from '@solana/web3.js';
import { afterAll, describe, expect, it } from 'vitest';
import { ACCOUNT_ATTACKS, worldWithFee } from '../attacks/accounts.js';
import { CONTENT_ATTACKS } from '../attacks/contents.js';
import { VOTE_ATTACKS } from '../attacks/votes.js';
import {
  type Accounts,
  accountsOf,
  type Fact,
  FILE,
  honestWorld,
  key,
  mint,
  missing,
  OWNER,
  owner,
  vault,
  type World,
} from '../attacks/world.js';
import { flywheelHere } from '../support/flywheel-here.js';
import { type Stub, startStub } from '../support/http-stub.js';
import {
  BEGINNING,
  closeStubs,
  inContext,
  type StubNode,
  stubNode,
  wireAccount,
} from '../support/rpc-stub.js';
import { BIN, emptyDirectory, flywheel, type Spawned, type SpawnOptions } from '../support/spawn.js';
import { onTerminal } from './terminal.js';

const REFUSED = 9;
const ALL = [...VOTE_ATTACKS, ...ACCOUNT_ATTACKS, ...CONTENT_ATTACKS];
/** By name, so that a renamed attack fails the test. */
const SAMPLES = [
  'multisig: a threshold of one',
  'multisig: a third member of rights 2',
  'multisig: pinned with an owner of rights 5',
  'pins: without facts',
  'batch: set up by a stranger',
  'batch: of fewer transactions than there are',
  'proposal: Cancelled ',
  'mint: somebody can mint',
  'vault account: a delegate',
  'vault account: empty',
  'VaultBatchTransaction 4: belongs to TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'limit: tokens a batch',
  'content: burns 1.500001 for 1.5',
  'transaction 2: delegates',
  'message 2: lets a read-only account be written',
  'approval: of the next batch',
  'approval: with a transfer of SOL behind',
] as const;

const closing: (() => Promise<void>)[] = [closeStubs];
afterAll(() => Promise.all(closing.map((close) => close())));

/** A node that answers the n-th reading (from 1) with these accounts. */
const nodeThat = (chain: (reading: number) => Accounts): Promise<StubNode> => {
  let reading = 0;
  return stubNode({
    getMultipleAccounts: (addresses: readonly string[]) => {
      reading += 1;
      const accounts = chain(reading);
      return inContext(
        addresses.map((at) => {
          const found = accounts.get(at);
          return found === undefined ? null : wireAccount(found.data, found.owner, Number(found.lamports));
        }),
      );
    },
    isBlockhashValid: () => inContext(true),
    getEpochInfo: () => BEGINNING,
  } as never);
};

/** A service that returns the approval of this world for every batch. */
async function serviceOf({ wire, batch }: World): Promise<Stub> {
  const date = '2026-01-31T12:00:00.000Z';
  const said = {
    ...{ ...batch, flywheelId: batch.id, tokenId: batch.id, mintAddress: mint.toBase58(), vaultIndex: '0' },
    ...{
      vaultAddress: vault.toBase58(),
      status: 'FINALIZED',
      pipelines: [],
      dateCreated: date,
      dateUpdated: date,
    },
  };
  const answer = JSON.stringify({ batch: said, proposalApproveTx: Buffer.from(wire).toString('base64') });
  const stub = await startStub((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
  closing.push(() => stub.close());
  return stub;
}

/** Approves without a terminal; the approval comes from another world's service. */
async function approve(
  world: World,
  {
    node,
    service,
    run = flywheel,
    consent = ['--yes'],
  }: {
    readonly node?: StubNode;
    readonly service?: World;
    readonly run?: typeof flywheel;
    readonly consent?: readonly string[];
  } = {},
) {
  const home = emptyDirectory();
  const { url } = node ?? (await nodeThat(() => accountsOf(world)));
  const { url: api } = service === undefined ? { url: 'http://127.0.0.1:1' } : await serviceOf(service);
  const write = (name: string, content: unknown): string => {
    writeFileSync(join(home, name), JSON.stringify(content), { mode: 0o600 });
    return name;
  };
  const { facts, ...addresses } = world.pins;
  const approval = { batch: world.batch, proposalApproveTx: Buffer.from(world.wire).toString('base64') };
  const ended = await run(
    { home, env: { FLYWHEEL_API_KEY: `fk_${'a'.repeat(64)}` } },
    ...['batch', 'approve', service === undefined ? write('approval.json', approval) : world.batch.id],
    ...['--keypair', write('owner.json', [...OWNER.secretKey]), '--expect', write('file.json', FILE)],
    ...['--pins', write('pins.json', { ...addresses, ...(facts && { facts }), limits: world.limits })],
    ...['--rpc-url', url, '--api-url', api, ...consent, '--json', '--max-wait', '0', '--out', 'signed.json'],
  );
  return { ...ended, isWritten: existsSync(join(home, 'signed.json')) };
}

type Ended = Awaited<ReturnType<typeof approve>>;
function expectRefused({ exit, stdout, stderr, isWritten }: Ended, facts: readonly Fact[]): void {
  expect([exit, stdout, isWritten, stderr]).toEqual([
    REFUSED,
    '',
    false,
    expect.stringContaining('ERR_APPROVAL_REFUSED'),
  ]);
  const { message } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  expect([message, missing(message, facts)]).toEqual([message, []]);
}

describe('batch approve', () => {
  it('signs an honest batch: the signature of the owner comes to what was issued, and nothing else', async () => {
    const world = honestWorld();
    const { exit, stdout, isWritten } = await approve(world, { service: world });
    expect([exit, isWritten]).toEqual([0, true]);
    const signed = Buffer.from(JSON.parse(stdout).signedTx, 'base64');
    const { message, signatures } = VersionedTransaction.deserialize(signed);
    const place = message.staticAccountKeys.findIndex((one) => one.equals(owner));
    expect(signatures[place]?.some((byte) => byte !== 0)).toBe(true);
    signed.fill(0, 1 + 64 * place, 65 + 64 * place);
    expect(signed.toString('hex')).toBe(Buffer.from(world.wire).toString('hex'));
  });

  it('tells what recipients get of a token that withholds a fee', async () => {
    const run = async ({ home, env }: SpawnOptions, ...words: string[]): Promise<Spawned> => {
      const line = [process.execPath, BIN, ...words].map((word) => `'${word}'`).join(' ');
      const { status, text } = await onTerminal(
        home,
        `stty cols 300; ${line}`,
        { NO_COLOR: '1', ...env },
        'n',
      );
      return { exit: status, signal: null, stdout: text, stderr: '' };
    };
    const { exit, stdout } = await approve(worldWithFee(), { run, consent: [] });
    expect([exit, stdout]).toEqual([
      ...[
        130,
        expect.stringMatching(/recipients get +[\d.,]+ .*; the token's transfer fee withholds [\d.,]+ /),
      ],
    ]);
  });

  it.each(SAMPLES)('signs nothing: %s', async (name) => {
    const attack = ALL.find((one) => one.name === name);
    if (attack === undefined) throw new TypeError(`There is no attack ${name}.`);
    const world = honestWorld();
    attack.change(world);
    expectRefused(await approve(world, { run: flywheelHere }), attack.facts);
  });

  it('signs nothing that a service gives out for another batch', async () => {
    const [world, service] = [honestWorld(), honestWorld()];
    VOTE_ATTACKS.find(({ name }) => name === 'approval: of another multisig')?.change(service);
    expectRefused(await approve(world, { service }), [key('another')]);
  });

  it('signs nothing where a node that was honest at first lies later', async () => {
    const [world, lying] = [honestWorld(), honestWorld()];
    lying.mint.mintAuthority = key('stranger');
    const [honest, lies] = [accountsOf(world), accountsOf(lying)];
    const node = await nodeThat((reading) => (reading > 1 ? lies : honest));
    expectRefused(await approve(world, { node }), ['mint.mintAuthority', key('stranger')]);
  });
});
