/** The accounts that a local chain begins with: a treasury that can pay for everything, and the Squads configuration. */
import type { Address } from '../../../values/address.js';
import { type AccountState, RENT_EPOCH_EXEMPT, rentExemptLamports } from '../../account.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import { ACCOUNT_SIZE, encodeAccount, PROGRAM_CONFIG } from '../../squads/accounts.js';
import { programConfigAddress } from '../../squads/addresses.js';

/** Accounts of block 0, each with its address. */
export type GenesisAccounts = readonly (readonly [Address, AccountState])[];

/** 500,000,000 SOL: what a treasury never runs out of, and far below a u64. */
const TREASURY_LAMPORTS = 500_000_000n * 1_000_000_000n;
const RESERVED_BYTES = 64;

/** The accounts of a new local chain whose `treasury` is the wallet that funds all others. */
export function localGenesis(treasury: Address): GenesisAccounts {
  const config = encodeAccount(PROGRAM_CONFIG, {
    authority: treasury,
    multisigCreationFeeLamports: 0n,
    treasury,
    reserved: new Uint8Array(RESERVED_BYTES),
  });
  const common = { executable: false, rentEpoch: RENT_EPOCH_EXEMPT };
  return [
    [treasury, { ...common, lamports: TREASURY_LAMPORTS, owner: SYSTEM_PROGRAM, data: new Uint8Array(0) }],
    [
      programConfigAddress().address,
      {
        ...common,
        lamports: rentExemptLamports(ACCOUNT_SIZE.programConfig),
        owner: SQUADS_PROGRAM,
        data: config,
      },
    ],
  ];
}
