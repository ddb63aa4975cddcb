/** The accounts of a fuzzed chain: wallets, tokens, known multisigs, and the clock. */

import { Keypair } from '@solana/web3.js';
import { LedgerAccounts } from '../conformance/squads/ledger-accounts.js';
import { type Extension, mintData, tokenAccountData } from '../support/token-accounts.js';
import {
  type AccountState,
  ADDRESS_LOOKUP_TABLE_PROGRAM,
  type Address,
  ASSOCIATED_TOKEN_PROGRAM,
  addressBytes,
  addressFromBytes,
  associatedTokenAddress,
  type ChainClock,
  createKeypairSigner,
  type ExecutionResult,
  encodeAccount,
  type KeypairSigner,
  MEMO_PROGRAM,
  PROGRAM_CONFIG,
  programConfigAddress,
  rentExemptLamports,
  SQUADS_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from './program.js';
import type { Random } from './random.js';

const WALLETS = 7;
const TOKENS_HELD = 1_000_000n;

const walletFrom = (seed: Uint8Array): KeypairSigner => createKeypairSigner(Keypair.fromSeed(seed).secretKey);

/** CpiGuard, switched on (spl-token-2022, `ExtensionType`). */
const CPI_GUARD: Extension = { type: 11, data: Uint8Array.of(1) };

const tokenAccount = (mint: Address, owner: Address, ...extensions: Extension[]): Buffer =>
  tokenAccountData({
    ...{ mint, owner, amount: TOKENS_HELD, state: 1, delegate: null, delegatedAmount: 0n },
    ...{ closeAuthority: null, extensions },
  });

interface KnownMultisig {
  readonly address: Address;
  readonly createKey: KeypairSigner;
}

export class World {
  readonly accounts = new LedgerAccounts();
  readonly wallets: readonly KeypairSigner[];
  /** All known keys, including the wallets. */
  readonly signers: KeypairSigner[];
  readonly treasury: Address;
  readonly mint: Address;
  /** Of Token-2022. */
  readonly otherMint: Address;
  readonly multisigs: KnownMultisig[] = [];
  /** An account has data that the program cannot have written; then only the real program decides. */
  readonly isSpoiled: boolean;
  /** While set, all instructions use this multisig. */
  stay: KnownMultisig | undefined;
  clock: ChainClock;

  /** @param slot - later than every earlier world's: a LiteSVM does not run programs that it met in a later slot. */
  constructor(
    readonly random: Random,
    slot: bigint,
  ) {
    this.isSpoiled = random.oneIn(8);
    this.clock = { slot, epoch: 0n, unixTimestamp: 1_700_000_000n };
    this.wallets = Array.from({ length: WALLETS }, () => walletFrom(random.bytes(32)));
    this.signers = [...this.wallets];
    for (const { address } of this.wallets) this.fund(address, 10_000_000_000n);
    this.treasury = addressFromBytes(random.bytes(32));
    this.fund(this.treasury, 5_000_000n);
    this.mint = this.#makeMint(TOKEN_PROGRAM);
    this.otherMint = this.#makeMint(TOKEN_2022_PROGRAM);
    const config = encodeAccount(PROGRAM_CONFIG, {
      authority: this.treasury,
      multisigCreationFeeLamports: random.oneIn(3) ? 2_500_000_000n : 0n,
      treasury: this.treasury,
      reserved: new Uint8Array(64),
    });
    this.put(programConfigAddress().address, config, SQUADS_PROGRAM);
    for (const { address } of this.wallets) {
      this.giveTokens(address);
      this.giveOtherTokens(address, false);
    }
  }

  get(address: Address): AccountState | null {
    return this.accounts.get(address);
  }

  wallet(): KeypairSigner {
    return this.random.pick(this.wallets);
  }

  put(address: Address, data: Uint8Array, owner: Address, lamports = rentExemptLamports(data.length)): void {
    this.accounts.set(address, { lamports, owner, data, executable: false });
  }

  fund(address: Address, lamports: bigint): void {
    this.put(address, new Uint8Array(0), SYSTEM_PROGRAM, lamports);
  }

  newSigner(): KeypairSigner {
    const signer = walletFrom(this.random.bytes(32));
    this.signers.push(signer);
    return signer;
  }

  /** Opens the owner's associated token account with tokens. */
  giveTokens(owner: Address): void {
    const data = tokenAccount(this.mint, owner);
    this.put(associatedTokenAddress(owner, this.mint, TOKEN_PROGRAM), data, TOKEN_PROGRAM);
  }

  /** The same for Token-2022. @param locked - CpiGuard blocks transfers by other programs. */
  giveOtherTokens(owner: Address, locked: boolean): void {
    const data = tokenAccount(this.otherMint, owner, ...(locked ? [CPI_GUARD] : []));
    this.put(associatedTokenAddress(owner, this.otherMint, TOKEN_2022_PROGRAM), data, TOKEN_2022_PROGRAM);
  }

  addTable(entries: readonly Address[]): Address {
    const data = Buffer.alloc(56 + 32 * entries.length);
    data.writeUInt32LE(1, 0);
    data.fill(0xff, 4, 12);
    entries.forEach((entry, index) => {
      data.set(addressBytes(entry), 56 + 32 * index);
    });
    const address = addressFromBytes(this.random.bytes(32));
    this.put(address, Uint8Array.from(data), ADDRESS_LOOKUP_TABLE_PROGRAM);
    return address;
  }

  #makeMint(program: Address): Address {
    const mint = addressFromBytes(this.random.bytes(32));
    const data = mintData({
      ...{ mintAuthority: this.treasury, freezeAuthority: null, supply: 1n << 50n, decimals: 6 },
      extensions: [],
    });
    this.put(mint, data, program);
    return mint;
  }

  /** Usually an existing address, sometimes an unused one. */
  anyAddress(): Address {
    const known = this.accounts.addresses();
    const programs = [SYSTEM_PROGRAM, TOKEN_PROGRAM, MEMO_PROGRAM, ASSOCIATED_TOKEN_PROGRAM, SQUADS_PROGRAM];
    if (this.random.oneIn(12)) return addressFromBytes(this.random.bytes(32));
    return this.random.pick(this.random.oneIn(6) ? programs : known);
  }

  /** Commits as the ledger does: this process keeps its objects, any other reads rows. */
  commit({ changes }: ExecutionResult): void {
    if (this.random.oneIn(2)) this.accounts.adopt(changes);
    else for (const [address, state] of changes) this.accounts.set(address, state);
  }

  tick(): void {
    const { slot, epoch, unixTimestamp } = this.clock;
    this.clock = {
      slot: slot + 1n,
      epoch,
      unixTimestamp: unixTimestamp + BigInt(this.random.below(40)),
    };
  }
}
