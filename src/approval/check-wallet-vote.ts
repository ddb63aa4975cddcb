/**
 * Is this what the owner was to sign, after a wallet had it in hands? A wallet may add what it makes a transaction cheaper or
 * safer with: a limit and a price of compute units within the bounds of every vote, and assertions of Lighthouse, which only
 * read. Everything else is somebody else's wish.
 */
import { decodeLighthouse } from '../chain/small-programs.js';
import type { Instruction } from '../chain/transaction/message.js';
import { decodeTransaction } from '../chain/transaction/wire.js';
import { isFlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import { base58Encode } from '../values/base58.js';
import { checkVote } from './check-vote.js';
import { ensure, refuse } from './refuse.js';

/** What the wallet was given to sign. */
interface GivenVote {
  readonly multisig: Address;
  readonly batchIndex: bigint;
  /** Pays, and votes; the only signer. */
  readonly owner: Address;
  /** Base58 text; one for each time that it was given. */
  readonly blockhashes: ReadonlySet<string>;
}

/** A vote that is ready to be sent. */
export interface WalletVote {
  readonly wire: Uint8Array;
  /** Base58; the transaction's name on the chain. */
  readonly signature: string;
  /** Base58; one of those that were given. */
  readonly blockhash: string;
  /** Lamports paid beyond the signature at most. */
  readonly priorityFeeLamports: bigint;
  /** Names of the assertions that the wallet has added. */
  readonly assertions: readonly string[];
}

/**
 * Lets pass the approval that the wallet was given, signed by the owner, with nothing more than those additions.
 * @throws `ERR_APPROVAL_REFUSED` naming what was added or changed.
 */
export function checkWalletVote(wire: Uint8Array, given: GivenVote): WalletVote {
  const { multisig, batchIndex, owner, blockhashes } = given;
  const expected = { kind: 'approve', multisig, batchIndex, member: owner, feePayers: [owner] } as const;
  const assertions: string[] = [];
  const isAssertion = (instruction: Instruction): boolean => {
    const found = decodeLighthouse(instruction);
    if (found === undefined) return false;
    ensure(
      found.onlyAsserts,
      () => `The approval contains ${found.name} of the program Lighthouse, which does more than assert`,
    );
    assertions.push(found.name);
    return true;
  };
  try {
    const checked = checkVote(wire, expected, isAssertion);
    ensure(checked.version === 0, () => 'The approval is no longer a version 0 transaction');
    ensure(
      blockhashes.has(checked.blockhash),
      () => `The approval is for the blockhash ${checked.blockhash}, which the wallet was not given`,
    );
    ensure(checked.missingSignatures.length === 0, () => `The approval is not signed by ${owner}`);
    const { blockhash, priorityFeeLamports } = checked;
    return { wire, signature: nameOf(wire), blockhash, priorityFeeLamports, assertions };
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) throw error;
    return refuse(`The wallet changed the transaction: ${error.message.replace(/\.$/, '')}`, error);
  }
}

const nameOf = (wire: Uint8Array): string =>
  base58Encode(decodeTransaction(wire).signatures[0] ?? new Uint8Array());
