/** What is rolled back leaves nothing behind: not in memory, not in the file, not for those who go on from there. */

import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AccountState } from '../../../../src/chain/account.js';
import { MAX_BUNDLE_TRANSACTIONS, type Rejection } from '../../../../src/chain/chain.js';
import {
  type LocalChain,
  type LocalChainOptions,
  openLocalChain,
} from '../../../../src/chain/local/local-chain.js';
import { TOKEN_PROGRAM } from '../../../../src/chain/programs.js';
import {
  type AccountLayout,
  BATCH,
  decodeAccount,
  MULTISIG,
  PROPOSAL,
} from '../../../../src/chain/squads/accounts.js';
import {
  associatedTokenAddress,
  batchTransactionAddress,
  multisigAddress,
  proposalAddress,
  transactionAddress,
  vaultAddress,
} from '../../../../src/chain/squads/addresses.js';
import { multisigCreateV2, proposalApprove } from '../../../../src/chain/squads/builders.js';
import { vaultMessage } from '../../../../src/chain/squads/message.js';
import { transfer } from '../../../../src/chain/system.js';
import {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
  transferChecked,
} from '../../../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../../../src/chain/transaction/instruction.js';
import type { KeypairSigner } from '../../../../src/chain/transaction/signer.js';
import { executeTransactions, setupTransactions } from '../../../../src/engine/batches/plan-batch.js';
import type { Address } from '../../../../src/values/address.js';
import { readBuffer } from '../../../../src/values/bytes.js';
import {
  chainOptions,
  createToken,
  namedSigner,
  removeDirectories,
  signed,
  type TestToken,
  TOKEN_DECIMALS,
  temporaryDirectory,
  treasury,
} from '../../../support/chain.js';

const PIPELINES = 8;
const BURNED_EACH = 10n;
const BATCH_INDEX = 1n;
const SOL = 1_000_000_000n;
const owner = namedSigner('owner');
const operator = namedSigner('operator');
const createKey = namedSigner('create key');
const multisig = multisigAddress(createKey.address).address;
const vault = vaultAddress(multisig, 0).address;
const batchAt = transactionAddress(multisig, BATCH_INDEX).address;
const proposalAt = proposalAddress(multisig, BATCH_INDEX).address;

/** With SQUADS_PROGRAM=FILE on the real program, which has to behave the same. */
const program = process.env['SQUADS_PROGRAM'] ?? '';
const options = (directory: string): LocalChainOptions => ({
  ...chainOptions(directory),
  ...(program === '' ? {} : { squadsProgram: readFileSync(program) }),
});

/** As the service sends them. */
const intoBundles = <Draft>(drafts: readonly Draft[]): readonly (readonly Draft[])[] =>
  Array.from({ length: Math.ceil(drafts.length / MAX_BUNDLE_TRANSACTIONS) }, (_, at) =>
    drafts.slice(at * MAX_BUNDLE_TRANSACTIONS, (at + 1) * MAX_BUNDLE_TRANSACTIONS),
  );

afterAll(removeDirectories);

describe('a bundle that is rolled back in the middle', () => {
  let directory: string;
  let chain: LocalChain;
  let token: TestToken;
  let place: Parameters<typeof setupTransactions>[0];
  let vaultTokenAccount: Address;
  let messages: readonly Uint8Array[];

  /** As another process would find it: nothing in memory but what the file holds. */
  const reopen = async (): Promise<void> => {
    await chain.close();
    chain = await openLocalChain(options(directory));
  };
  const bundleOf = async (signer: KeypairSigner, drafts: readonly (readonly Instruction[])[]) => {
    const bundle: Uint8Array[] = [];
    for (const instructions of drafts) bundle.push((await signed(chain, [signer], instructions)).bytes);
    return bundle;
  };
  /** Submits bundles one call each, as the engine does, and stops at the first that is rejected. */
  const submit = async (
    signer: KeypairSigner,
    drafts: readonly (readonly (readonly Instruction[])[])[],
  ): Promise<(Rejection | null)[]> => {
    const receipts: (Rejection | null)[] = [];
    for (const draft of drafts) {
      const [receipt = null] = await chain.submitBundles([await bundleOf(signer, draft)]);
      receipts.push(receipt);
      await expectFileAndMemoryAgree();
      if (receipt !== null) break;
    }
    return receipts;
  };
  const land = async (signer: KeypairSigner, instructions: readonly Instruction[]): Promise<void> => {
    expect(await submit(signer, [[instructions]])).toEqual([null]);
  };
  const stateOf = async <Value>(layout: AccountLayout<Value>, address: Address): Promise<Value> => {
    const [account] = await chain.getAccounts([address]);
    const value = decodeAccount(layout, account?.data ?? new Uint8Array(0));
    return value ?? expect.unreachable(`No ${layout.name} at ${address}.`);
  };
  const everyAccount = [
    multisig,
    batchAt,
    proposalAt,
    vault,
    operator.address,
    ...Array.from(
      { length: PIPELINES },
      (_, at) => batchTransactionAddress(multisig, BATCH_INDEX, at + 1).address,
    ),
  ];
  const plain = (account: AccountState | null) =>
    account && { ...account, data: readBuffer(account.data).toString('hex') };
  const expectFileAndMemoryAgree = async (): Promise<void> => {
    const file = await openLocalChain({ ...options(directory), readOnly: true });
    const addresses = [...everyAccount, token.mint, vaultTokenAccount];
    const inMemory = (await chain.getAccounts(addresses)).map(plain);
    expect(inMemory).toEqual((await file.getAccounts(addresses)).map(plain));
    await file.close();
  };

  beforeEach(async () => {
    directory = temporaryDirectory();
    chain = await openLocalChain(options(directory));
    token = await createToken(chain, 1_000n);
    vaultTokenAccount = associatedTokenAddress(vault, token.mint, TOKEN_PROGRAM);
    place = {
      flywheel: {
        multisig,
        vaultIndex: 0,
        vault,
        operator: operator.address,
      },
      batchIndex: BATCH_INDEX,
    };
    const burn = burnChecked({
      account: vaultTokenAccount,
      mint: token.mint,
      owner: vault,
      amount: BURNED_EACH,
      decimals: TOKEN_DECIMALS,
      tokenProgram: TOKEN_PROGRAM,
    });
    messages = Array.from({ length: PIPELINES }, () => vaultMessage(vault, [burn]));
    const { bytes } = await signed(
      chain,
      [treasury, createKey],
      [
        multisigCreateV2({
          createKey: createKey.address,
          creator: treasury.address,
          treasury: treasury.address,
          configAuthority: null,
          threshold: 2,
          members: [owner, operator].map(({ address }) => ({ key: address, permissions: 7 })),
          timeLockSeconds: 0,
          rentCollector: operator.address,
        }),
        ...[owner.address, vault].map((to) => transfer({ from: treasury.address, to, lamports: SOL })),
        createAssociatedTokenAccountIdempotent({
          payer: treasury.address,
          owner: vault,
          mint: token.mint,
          tokenProgram: TOKEN_PROGRAM,
        }),
      ],
    );
    expect(await chain.submit([bytes])).toEqual([null]);
  });
  afterEach(() => chain.close());

  const give = (lamports: bigint) => [transfer({ from: treasury.address, to: operator.address, lamports })];
  const giveTokens = (amount: bigint) => [
    transferChecked({
      from: token.account,
      to: vaultTokenAccount,
      owner: treasury.address,
      mint: token.mint,
      amount,
      decimals: TOKEN_DECIMALS,
      tokenProgram: TOKEN_PROGRAM,
    }),
  ];
  const approve = (member: KeypairSigner) => [
    proposalApprove({ multisig, batchIndex: BATCH_INDEX, member: member.address }),
  ];
  const setUp = () => intoBundles([...setupTransactions(place, messages)]);
  const execute = (from = 0) => intoBundles([...executeTransactions(place, messages)].slice(from));
  const approvedBatch = async (): Promise<void> => {
    await land(treasury, give(SOL));
    expect(await submit(operator, setUp())).toEqual([null, null, null]);
    await land(owner, approve(owner));
    await land(operator, approve(operator));
  };

  it('skips no pipeline of a batch that a member goes on with', async () => {
    await approvedBatch();
    await land(treasury, giveTokens(5n * BURNED_EACH + 5n));
    await reopen();

    const [first, second] = await submit(operator, execute());
    expect(first).toBeNull();
    expect(second).toMatchObject({ index: 1, error: { kind: 'instruction', custom: 1 } });
    expect(await stateOf(BATCH, batchAt)).toMatchObject({ size: 8, executedTransactionIndex: 4 });
    expect(await token.supply(chain)).toBe(1_000n - 4n * BURNED_EACH);

    await land(treasury, giveTokens(100n));
    const [skipping] = await submit(operator, execute(5));
    expect(skipping).toMatchObject({ index: 0, error: { kind: 'instruction', custom: 2006 } });
    expect(await submit(operator, execute(4))).toEqual([null]);
    expect(await stateOf(BATCH, batchAt)).toMatchObject({ executedTransactionIndex: 8 });
    expect(await stateOf(PROPOSAL, proposalAt)).toMatchObject({ status: { kind: 'Executed' } });
    expect(await token.supply(chain)).toBe(1_000n - 8n * BURNED_EACH);
  });

  it('leaves a set-up that ran out of SOL such that it can be finished', async () => {
    const [create, ...rest] = setupTransactions(place, messages);
    const bundles = intoBundles(rest);
    // Enough for the batch, its proposal and six of its eight transactions, with their fees.
    await land(treasury, give(18_500_000n));
    expect(await submit(operator, [[create ?? []]])).toEqual([null]);
    await reopen();

    const [first, second] = await submit(operator, bundles);
    expect(first).toBeNull();
    expect(second).toMatchObject({ index: 2, error: { kind: 'instruction', custom: 1 } });
    expect(await stateOf(BATCH, batchAt)).toMatchObject({ size: 4 });

    await land(treasury, give(SOL));
    expect(await submit(operator, bundles.slice(1))).toEqual([null, null]);
    expect(await stateOf(BATCH, batchAt)).toMatchObject({ size: 8 });
    expect(await stateOf(PROPOSAL, proposalAt)).toMatchObject({ status: { kind: 'Active' } });
  });

  it('counts no vote of it', async () => {
    await land(treasury, give(SOL));
    expect(await submit(operator, setUp())).toEqual([null, null, null]);
    await reopen();

    const impossible = [transfer({ from: owner.address, to: vault, lamports: 2n * SOL })];
    const [rejection] = await submit(owner, [[approve(owner), impossible]]);
    expect(rejection).toMatchObject({ index: 1, error: { kind: 'instruction', custom: 1 } });
    expect(await stateOf(PROPOSAL, proposalAt)).toMatchObject({ approved: [] });
    await land(owner, approve(owner));
    expect(await stateOf(PROPOSAL, proposalAt)).toMatchObject({ approved: [owner.address] });
  });

  it('takes no index with it', async () => {
    await land(treasury, give(SOL));
    await reopen();
    const [create = []] = setupTransactions(place, messages);
    const impossible = [transfer({ from: operator.address, to: vault, lamports: 2n * SOL })];
    const [rejection] = await submit(operator, [[create, impossible]]);
    expect(rejection).toMatchObject({ index: 1 });
    expect(await stateOf(MULTISIG, multisig)).toMatchObject({ transactionIndex: 0n });
    expect(await submit(operator, [[create]])).toEqual([null]);
  });

  it('is no different from a transaction that fails after it has written', async () => {
    await land(treasury, give(SOL));
    expect(await submit(operator, setUp())).toEqual([null, null, null]);
    await reopen();
    const impossible = transfer({ from: owner.address, to: vault, lamports: 2n * SOL });
    const { bytes, signature } = await signed(chain, [owner], [...approve(owner), impossible]);
    expect(await chain.submit([bytes])).toEqual([null]);
    expect((await chain.lookUp([signature]))[0]?.error).toMatchObject({ index: 1, custom: 1 });
    await expectFileAndMemoryAgree();
    expect(await stateOf(PROPOSAL, proposalAt)).toMatchObject({ approved: [] });
  });

  it('shares no memory with the bytes that were submitted', async () => {
    await land(treasury, [...give(SOL)]);
    const bundles: Uint8Array[][] = [];
    for (const draft of setUp()) {
      // Buffers, as they come from a store or from base64; their owner uses the memory again for something else.
      const bundle = (await bundleOf(operator, draft)).map((bytes) => Buffer.from(bytes));
      expect(await chain.submitBundles([bundle])).toEqual([null]);
      bundles.push(bundle);
    }
    for (const bytes of bundles.flat()) bytes.fill(0xff);
    await land(owner, approve(owner));
    await land(operator, approve(operator));
    await land(treasury, giveTokens(100n));
    expect(await submit(operator, execute())).toEqual([null, null]);
    expect(await token.supply(chain)).toBe(1_000n - 8n * BURNED_EACH);
  });
});
