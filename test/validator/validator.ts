/**
 * Registers projects on a running validator with the real Squads program, by plain transactions, independent of the embedded
 * ledger and of `register`.
 */
import { rmSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { rentExemptLamports } from '../../src/chain/account.js';
import { type Chain, DEFAULT_MAX_PRIORITY_FEE_LAMPORTS } from '../../src/chain/chain.js';
import { tokenProgramAddress } from '../../src/chain/programs.js';
import { ClusterChain } from '../../src/chain/rpc/cluster-chain.js';
import { createAccount, transfer } from '../../src/chain/small-programs.js';
import { ALL_PERMISSIONS } from '../../src/chain/squads/accounts.js';
import { associatedTokenAddress, multisigAddress, vaultAddress } from '../../src/chain/squads/addresses.js';
import { multisigCreateV2 } from '../../src/chain/squads/builders.js';
import { MINT_SIZE_BYTES } from '../../src/chain/tokens/accounts.js';
import {
  createAssociatedTokenAccountIdempotent,
  initializeMint2,
  mintToChecked,
} from '../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../src/chain/transaction/message.js';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../src/chain/transaction/sign.js';
import { compileLegacyMessage } from '../../src/chain/transaction/wire.js';
import { createFileKeyring } from '../../src/compose/keyring.js';
import { dataFiles } from '../../src/compose/local-config.js';
import { readProgramConfig } from '../../src/compose/registration/plan.js';
import type { RegisterInput } from '../../src/contract/admin.js';
import { insertFirstKey, registrationView } from '../../src/engine/admin/project.js';
import { DEFAULT_LIMITS } from '../../src/engine/deps.js';
import { createEngine } from '../../src/engine/engine.js';
import { Leases } from '../../src/engine/lease.js';
import { settle } from '../../src/engine/settle.js';
import { whole } from '../../src/store/schema.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { type Address, address } from '../../src/values/address.js';
import { randomIds } from '../../src/values/ids.js';
import { Secret } from '../../src/values/secret.js';
import { isoTime, systemClock } from '../../src/values/time.js';
import { parseTokenAmount } from '../../src/values/token-amount.js';
import { signTransaction } from '../support/chain.js';
import { FREE_LEASE } from '../support/doubles.js';
import { REGISTER_DEFAULTS, type TestDeps, type TestEngine, type TestProject } from '../support/engine.js';
import { rpcResult } from '../support/rpc-call.js';
import { nodeAt } from '../support/rpc-chain.js';
import { emptyDirectory } from '../support/spawn.js';
import type { TestCluster } from '../test-cluster/open-cluster.js';

const SOL = 1_000_000_000n;
const AIRDROP_LAMPORTS = 40n * SOL;

const base = (text: string, decimals: number): bigint =>
  /^0+$/.test(text) ? 0n : parseTokenAmount(text, decimals);

async function land(
  chain: Chain,
  payer: KeypairSigner,
  steps: readonly {
    readonly instructions: readonly Instruction[];
    readonly signers?: readonly KeypairSigner[];
  }[],
): Promise<void> {
  for (const { instructions, signers = [] } of steps) {
    const sign = async () => {
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      const message = compileLegacyMessage({ payer: payer.address, instructions, blockhash });
      return { transactions: [signTransaction(message, [payer, ...signers])], lastValidBlockHeight };
    };
    const [end] = await settle(chain, {
      units: [await sign()],
      areNew: true,
      lease: FREE_LEASE,
      renew: async () => [await sign()],
    });
    if (end?.kind !== 'landed') throw new TypeError(`Not set up: ${end?.reason}`);
  }
}

/** A payer with enough SOL for a project. */
export async function payerOn(url: string, chain: Chain): Promise<KeypairSigner> {
  const payer = createKeypairSigner(generateKeypair());
  await rpcResult(url, 'requestAirdrop', payer.address, Number(AIRDROP_LAMPORTS));
  while ((await chain.getAccounts([payer.address]))[0] == null) await setTimeout(200);
  return payer;
}

async function registerOn(url: string, deps: TestDeps, more: Partial<RegisterInput>): Promise<TestProject> {
  const { chain, store, keyring, ids, clock } = deps;
  const owner = createKeypairSigner(generateKeypair());
  const input: RegisterInput = { ...REGISTER_DEFAULTS, owner: owner.address, ...more };
  const [payer, config] = [await payerOn(url, chain), await readProgramConfig(chain)];
  const [mint, createKey] = [createKeypairSigner(generateKeypair()), createKeypairSigner(generateKeypair())];
  const [burnWallet, operator] = [keyring.create(), keyring.create()];
  const multisig = multisigAddress(createKey.address).address;
  const vault = vaultAddress(multisig, 0).address;
  const { decimals } = input;
  const tokenProgram = tokenProgramAddress(input.tokenProgram);
  const common = { mint: mint.address, tokenProgram };
  const accountOf = (of: Address): Address => associatedTokenAddress(of, mint.address, tokenProgram);
  const pay = (to: Address, lamports: bigint): readonly Instruction[] =>
    lamports === 0n ? [] : [transfer({ from: payer.address, to, lamports })];
  const give = (to: Address, amount: bigint): readonly Instruction[] => [
    createAssociatedTokenAccountIdempotent({ ...common, payer: payer.address, owner: to }),
    ...(amount === 0n
      ? []
      : [mintToChecked({ ...common, to: accountOf(to), authority: payer.address, amount, decimals })]),
  ];
  const members = [address(input.owner), operator.address].map((key) => ({
    key,
    permissions: ALL_PERMISSIONS,
  }));
  await land(chain, payer, [
    {
      instructions: [
        ...pay(operator.address, 10n * SOL),
        ...pay(address(input.owner), SOL),
        ...pay(vault, base(input.vaultSol, 9)),
        ...pay(burnWallet.address, base(input.burnWalletSol, 9)),
      ],
    },
    {
      instructions: [
        createAccount({
          ...{ from: payer.address, account: mint.address, owner: tokenProgram },
          ...{ lamports: rentExemptLamports(MINT_SIZE_BYTES), sizeBytes: MINT_SIZE_BYTES },
        }),
        initializeMint2({ ...common, decimals, mintAuthority: payer.address, freezeAuthority: null }),
        ...give(burnWallet.address, base(input.burnWalletTokens, decimals)),
        ...give(vault, base(input.vaultTokens, decimals)),
      ],
      signers: [mint],
    },
    {
      instructions: [
        multisigCreateV2({
          ...{ createKey: createKey.address, creator: payer.address, treasury: config.treasury },
          ...{ configAuthority: null, threshold: 2, members, timeLockSeconds: 0 },
          rentCollector: operator.address,
        }),
      ],
      signers: [createKey],
    },
  ]);
  const cap = (text: string | null): bigint | null => (text === null ? null : base(text, decimals));
  const project = whole('projects', {
    ...{
      id: ids.uuid(),
      flywheelId: ids.uuid(),
      tokenName: input.name,
      symbol: input.symbol,
      mintAddress: mint.address,
      decimals,
    },
    ...{ tokenProgram: input.tokenProgram, generation: input.tokenGeneration },
    ...{ supply: base(input.supply, decimals), burnWallet: burnWallet.address },
    ...{ burnTokenAccount: accountOf(burnWallet.address), dateCreated: isoTime(clock.nowMs()) },
    ...{ multisig, vaultIndex: 0, vault, owner: address(input.owner) },
    ...{ vaultTokenAccount: accountOf(vault), operator: operator.address, proofTypes: input.proofTypes },
    ...{ dailyBurnCap: cap(input.dailyBurn), dailyAirdropCap: cap(input.dailyAirdrop) },
  });
  const apiKey = await store.transaction(async (tx) => {
    await tx.projects.insert(project);
    return insertFirstKey(deps, tx, project.id, input.scopes);
  });
  const key = new Secret(apiKey.key);
  return {
    ...{ registration: registrationView(project), owner, key },
    call: (rest = {}) => ({ credential: key, ...rest }),
  };
}

export const chainOf = (url: string): Chain =>
  new ClusterChain({
    nodes: [nodeAt(url)],
    ...{ timeoutMs: 10_000, maxWaitMs: 30_000, pollMs: 100, clock: systemClock, random: Math.random },
    maxPriorityFeeLamports: DEFAULT_MAX_PRIORITY_FEE_LAMPORTS,
    sleep: (ms) => setTimeout(ms),
  });

export async function openOnValidator(
  url: string,
  owner: string,
): Promise<{ readonly test: TestEngine; readonly cluster: TestCluster; close(): Promise<void> }> {
  const dataDir = emptyDirectory();
  const store = await openSqliteStore({ path: dataFiles(dataDir).store, create: true });
  const chain = chainOf(url);
  const keyring = createFileKeyring(dataFiles(dataDir).keys);
  const deps: TestDeps = {
    store,
    chain,
    keyring,
    treasury: null,
    clock: systemClock,
    ids: randomIds,
    leases: new Leases('test'),
    actor: 'test',
    limits: DEFAULT_LIMITS,
  };
  const engine = createEngine(deps);
  const register = (input: Partial<RegisterInput> = {}) => registerOn(url, deps, input);
  const project = await register({ owner });
  const test = { engine, chain, store, dataDir, project, deps, register };
  const expire = async (): Promise<void> => {
    const { blockhash } = await chain.latestBlockhash();
    while (await chain.isBlockhashValid(blockhash)) await setTimeout(1_000);
  };
  const nothing = async (): Promise<void> => undefined;
  const close = async (): Promise<void> => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return {
    // Members that need an embedded ledger are missing here.
    test: test as Partial<TestEngine> as TestEngine,
    cluster: { chain, seen: nothing, settle: nothing, expire, close: nothing },
    close,
  };
}
