/** A local chain in its own directory, named keys, and a token to burn. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import { rentExemptLamports } from '../../src/chain/account.js';
import type { Chain } from '../../src/chain/chain.js';
import { localGenesis } from '../../src/chain/local/ledger/ledger.js';
import type { openLocalChain } from '../../src/chain/local/local-chain.js';
import { TOKEN_PROGRAM } from '../../src/chain/programs.js';
import { createAccount } from '../../src/chain/small-programs.js';
import { associatedTokenAddress } from '../../src/chain/squads/addresses.js';
import { decodeMint, decodeTokenAccount, MINT_SIZE_BYTES } from '../../src/chain/tokens/accounts.js';
import {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
  initializeMint2,
  mintToChecked,
} from '../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../src/chain/transaction/message.js';
import { createKeypairSigner, type KeypairSigner } from '../../src/chain/transaction/sign.js';
import { compileV0Message, decodeMessage, encodeTransaction } from '../../src/chain/transaction/wire.js';
import type { Address } from '../../src/values/address.js';
import { base58Encode, type ReadonlyBytes } from '../../src/values/bytes.js';
import type { Clock } from '../../src/values/time.js';

/** The wire transaction with these signatures; 64 zero bytes for every other signer. */
export function partiallySign(message: ReadonlyBytes, signers: readonly KeypairSigner[]): Uint8Array {
  const { staticKeys, signers: count } = decodeMessage(message);
  const signatures = staticKeys.slice(0, count).map((key) => {
    const signer = signers.find(({ address }) => address === key);
    return signer === undefined ? new Uint8Array(64) : signer.signNow(message);
  });
  return encodeTransaction(signatures, message);
}

export function signTransaction(message: ReadonlyBytes, signers: readonly KeypairSigner[]) {
  const bytes = partiallySign(message, signers);
  return { bytes, signature: base58Encode(bytes.subarray(1, 65)) };
}

export type Signed = ReturnType<typeof signTransaction>;

export const namedSigner = (name: string): KeypairSigner =>
  createKeypairSigner(Keypair.fromSeed(createHash('sha256').update(name).digest()).secretKey);

export class HandClock implements Clock {
  constructor(public timeMs = Date.UTC(2026, 0, 31, 12)) {}

  nowMs(): number {
    return this.timeMs;
  }
}

export const treasury = namedSigner('treasury');

/** Options of a chain whose block hashes are the same in every run. */
export const chainOptions = (
  directory: string,
  clock: Clock = new HandClock(),
): Parameters<typeof openLocalChain>[0] => ({
  path: join(directory, 'ledger.db'),
  clock,
  genesis: { accounts: localGenesis(treasury.address) },
});

export type Signers = readonly [KeypairSigner, ...KeypairSigner[]];

/** Signs instructions with a fresh blockhash; the first signer pays. */
export async function signed(
  chain: Pick<Chain, 'latestBlockhash'>,
  signers: Signers,
  instructions: readonly Instruction[],
): Promise<Signed> {
  const { blockhash } = await chain.latestBlockhash();
  return signedWith(blockhash, signers, instructions);
}

export const signedWith = (
  blockhash: string,
  signers: Signers,
  instructions: readonly Instruction[],
): Signed =>
  signTransaction(compileV0Message({ payer: signers[0].address, instructions, blockhash }), signers);

/** @throws if the transaction did not succeed. */
export async function landOn(
  chain: Pick<Chain, 'latestBlockhash' | 'submit'>,
  signers: Signers,
  instructions: readonly Instruction[],
): Promise<void> {
  const [rejection] = await chain.submit([(await signed(chain, signers, instructions)).bytes]);
  if (rejection != null) throw new TypeError(JSON.stringify(rejection));
}

export const TOKEN_DECIMALS = 6;

export class TestToken {
  readonly mint: Address;
  readonly holder = treasury;
  readonly account: Address;

  constructor(name = 'mint') {
    this.mint = namedSigner(name).address;
    this.account = associatedTokenAddress(this.holder.address, this.mint, TOKEN_PROGRAM);
  }

  burn(baseUnits: bigint): Instruction {
    return burnChecked({
      account: this.account,
      mint: this.mint,
      owner: this.holder.address,
      amount: baseUnits,
      decimals: TOKEN_DECIMALS,
      tokenProgram: TOKEN_PROGRAM,
    });
  }

  async supply(chain: Pick<Chain, 'getAccounts'>): Promise<bigint> {
    const [account] = await chain.getAccounts([this.mint]);
    return decodeMint(account ?? null)?.supply ?? -1n;
  }

  async balance(chain: Pick<Chain, 'getAccounts'>): Promise<bigint> {
    const [account] = await chain.getAccounts([this.account]);
    return decodeTokenAccount(account ?? null)?.amount ?? -1n;
  }
}

export async function createToken(chain: Chain, supply: bigint, name = 'mint'): Promise<TestToken> {
  const token = new TestToken(name);
  const mint = namedSigner(name);
  const owner = token.holder.address;
  const common = { mint: token.mint, tokenProgram: TOKEN_PROGRAM };
  const minted = { to: token.account, authority: owner, amount: supply, decimals: TOKEN_DECIMALS };
  const sizeBytes = MINT_SIZE_BYTES;
  const lamports = rentExemptLamports(sizeBytes);
  await landOn(
    chain,
    [token.holder, mint],
    [
      createAccount({ from: owner, account: token.mint, lamports, sizeBytes, owner: TOKEN_PROGRAM }),
      initializeMint2({ ...common, decimals: TOKEN_DECIMALS, mintAuthority: owner, freezeAuthority: null }),
      createAssociatedTokenAccountIdempotent({ ...common, payer: owner, owner }),
      mintToChecked({ ...common, ...minted }),
    ],
  );
  return token;
}
