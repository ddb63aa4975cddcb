/** A test cluster with an existing token and the two keys of its project, from which `register` starts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLocalChain } from '../../src/chain/local/local-chain.js';
import { transfer } from '../../src/chain/small-programs.js';
import { encodeAccount, PROGRAM_CONFIG } from '../../src/chain/squads/accounts.js';
import { programConfigAddress } from '../../src/chain/squads/addresses.js';
import type { Instruction } from '../../src/chain/transaction/message.js';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../src/chain/transaction/sign.js';
import { keypairText } from '../../src/files/keypair-file.js';
import type { Address } from '../../src/values/address.js';
import { systemClock } from '../../src/values/time.js';
import { chainOptions, createToken, namedSigner, signed, type TestToken, treasury } from './chain.js';
import { emptyDirectory } from './spawn.js';

/** Fee of a new multisig on this cluster, in lamports. */
export const SQUADS_FEE = 100_000_000n;
/** Neither the operator nor a signer, as on mainnet. */
export const SQUADS_TREASURY = namedSigner('the treasury of Squads').address;

/** Creates further tokens on a ledger that no node has open. */
export async function addTokens(directory: string, names: readonly string[]): Promise<readonly TestToken[]> {
  const chain = await openLocalChain(options(directory));
  try {
    const tokens: TestToken[] = [];
    for (const name of names) tokens.push(await createToken(chain, 1_000_000_000_000n, name));
    return tokens;
  } finally {
    await chain.close();
  }
}

export interface Wallet {
  readonly signer: KeypairSigner;
  readonly file: string;
}

export type TestProject = Awaited<ReturnType<typeof testProject>>;

function wallet(directory: string, name: string): Wallet {
  const keypair = generateKeypair();
  const file = join(directory, `${name}.json`);
  writeFileSync(file, keypairText(keypair), { mode: 0o600 });
  return { signer: createKeypairSigner(keypair), file };
}

export async function onLedger(
  directory: string,
  signers: readonly [KeypairSigner, ...KeypairSigner[]],
  instructions: readonly Instruction[],
): Promise<void> {
  const chain = await openLocalChain(options(directory));
  try {
    const [rejection] = await chain.submit([(await signed(chain, signers, instructions)).bytes]);
    if (rejection != null) throw new TypeError(JSON.stringify(rejection));
  } finally {
    await chain.close();
  }
}

/** The Squads configuration as on mainnet: another treasury, and a fee above zero. */
const options = (directory: string) => {
  const { genesis, ...rest } = chainOptions(directory, systemClock);
  const { address } = programConfigAddress();
  const accounts = genesis.accounts.map(([at, account]) => {
    if (at !== address) return [at, account] as const;
    const authority = treasury.address;
    const config = { authority, treasury: SQUADS_TREASURY, reserved: new Uint8Array(64) };
    const data = encodeAccount(PROGRAM_CONFIG, { ...config, multisigCreationFeeLamports: SQUADS_FEE });
    return [at, { ...account, data }] as const;
  });
  return { ...rest, genesis: { ...genesis, accounts } };
};

/** @param lamports - of the operator. @param others - further operators with the same balance. */
export async function testProject({ lamports = 1_000_000_000n, others = 0 } = {}) {
  const directory = emptyDirectory();
  const chain = await openLocalChain(options(directory));
  const token = await createToken(chain, 1_000_000_000_000n);
  await chain.close();
  const [owner, operator, burn] = ['owner', 'operator', 'burn-wallet'].map((name) =>
    wallet(directory, name),
  ) as [Wallet, Wallet, Wallet];
  const pay = (to: Address, lamports: bigint) => transfer({ from: treasury.address, to, lamports });
  const more = Array.from({ length: others }, (_, index) => wallet(directory, `operator-${index}`));
  await onLedger(directory, [treasury], [pay(SQUADS_TREASURY, 1_000_000_000n)]);
  for (const { signer } of [operator, ...more])
    await onLedger(directory, [treasury], [pay(signer.address, lamports)]);
  return {
    directory,
    token,
    owner: owner.signer,
    operator: operator.signer,
    burnWallet: burn.signer,
    others: more,
    files: { owner: owner.file, operator: operator.file, burnWallet: burn.file },
  };
}
