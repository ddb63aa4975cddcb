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
import { systemClock } from '../../src/values/time.js';
import {
  chainOptions,
  createToken,
  landOn,
  namedSigner,
  type Signers,
  type TestToken,
  treasury,
} from './chain.js';
import { emptyDirectory } from './spawn.js';

/** Fee of a new multisig on this cluster, in lamports. */
export const SQUADS_FEE = 100_000_000n;
const SUPPLY = 1_000_000_000_000n;
/** Neither the operator nor a signer, as on mainnet. */
export const SQUADS_TREASURY = namedSigner('the treasury of Squads').address;

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

/** On a ledger that no node has open. */
export async function onLedger(
  directory: string,
  ...terms: [Signers, readonly Instruction[]]
): Promise<void> {
  const chain = await openLocalChain(options(directory));
  await landOn(chain, ...terms).finally(() => chain.close());
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

/** @param lamports - of the operator. @param others - operators with the same balance. @param names - of further tokens. */
export async function testProject({
  lamports = 1_000_000_000n,
  others = 0,
  names = [],
}: {
  readonly lamports?: bigint;
  readonly others?: number;
  readonly names?: readonly string[];
} = {}) {
  const directory = emptyDirectory();
  const [owner, operator, burn] = ['owner', 'operator', 'burn-wallet'].map((name) =>
    wallet(directory, name),
  ) as [Wallet, Wallet, Wallet];
  const more = Array.from({ length: others }, (_, index) => wallet(directory, `operator-${index}`));
  const paid = [operator, ...more].map(({ signer }) => [signer.address, lamports] as const);
  const chain = await openLocalChain(options(directory));
  const token = await createToken(chain, SUPPLY);
  const tokens: TestToken[] = [];
  for (const name of names) tokens.push(await createToken(chain, SUPPLY, name));
  for (const [to, amount] of [[SQUADS_TREASURY, 1_000_000_000n] as const, ...paid])
    await landOn(chain, [treasury], [transfer({ from: treasury.address, to, lamports: amount })]);
  await chain.close();
  return {
    ...{ directory, token, tokens, others: more },
    owner: owner.signer,
    operator: operator.signer,
    burnWallet: burn.signer,
    files: { owner: owner.file, operator: operator.file, burnWallet: burn.file },
  };
}
