/** The instruction that sets up a multisig (squads-v4.md, section 7.1). */
import type { Address } from '../../../values/address.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import {
  type Instruction,
  readonlyAccount,
  readonlySigner,
  writableAccount,
  writableSigner,
} from '../../transaction/instruction.js';
import type { Member } from '../layouts/accounts.js';
import { multisigAddress, programConfigAddress } from '../layouts/addresses.js';
import { encodeInstruction } from '../layouts/instructions.js';

/** What {@link multisigCreateV2} sets up. */
export interface MultisigCreateInput {
  /** Signs once, so that nobody else can take the multisig's address. */
  readonly createKey: Address;
  /** Pays rent and creation fee. */
  readonly creator: Address;
  /** The treasury that the program's configuration names. */
  readonly treasury: Address;
  /** May change the multisig alone; `null` leaves it to the members. */
  readonly configAuthority: Address | null;
  readonly threshold: number;
  readonly members: readonly Member[];
  readonly timeLockSeconds: number;
  /** Gets the rent of closed accounts; without one nothing can be closed. */
  readonly rentCollector: Address | null;
}

/** Creates the multisig of a create key. */
export const multisigCreateV2 = (input: MultisigCreateInput): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: [
    readonlyAccount(programConfigAddress().address),
    writableAccount(input.treasury),
    writableAccount(multisigAddress(input.createKey).address),
    readonlySigner(input.createKey),
    writableSigner(input.creator),
    readonlyAccount(SYSTEM_PROGRAM),
  ],
  data: encodeInstruction('multisigCreateV2', {
    configAuthority: input.configAuthority,
    threshold: input.threshold,
    members: input.members,
    timeLockSeconds: input.timeLockSeconds,
    rentCollector: input.rentCollector,
    memo: null,
  }),
});
