/** What a transaction took from a flywheel, if one of the keys that the service signs with has signed it. */
import { type Chain, dateLanded, type TokenChange } from '../../chain/chain.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../chain/programs.js';
import { memosOf } from '../../chain/small-programs.js';
import { TOKEN_INSTRUCTION } from '../../chain/tokens/instructions.js';
import { decodeTransaction, type WireMessage } from '../../chain/transaction/wire.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { FlywheelRecord, LostTransaction, TokenRecord } from '../../store/records.js';
import { readBuffer } from '../../values/bytes.js';

const TOKEN_PROGRAMS: ReadonlySet<string> = new Set([TOKEN_PROGRAM, TOKEN_2022_PROGRAM]);

/** Whose transactions are looked at. */
interface OwnAccounts {
  readonly token: Pick<TokenRecord, 'burnWallet' | 'burnTokenAccount' | 'mintAddress'>;
  readonly flywheel: Pick<FlywheelRecord, 'operator' | 'vaultTokenAccount'>;
}

const taken = (changes: readonly TokenChange[]): bigint =>
  changes.reduce((sum, { before, after }) => sum + (before ?? 0n) - after, 0n);

const atLeastNothing = (amount: bigint): bigint => (amount > 0n ? amount : 0n);

/** Base units that left the accounts of the flywheel: what is gone for good was burned, the rest somebody else has. */
function amountsOf({ token, flywheel }: OwnAccounts, all: readonly TokenChange[]) {
  const changes = all.filter(({ mint }) => mint === token.mintAddress);
  const own = [token.burnTokenAccount, flywheel.vaultTokenAccount];
  const left = atLeastNothing(taken(changes.filter(({ account }) => own.includes(account))));
  const gone = atLeastNothing(taken(changes));
  const burned = gone < left ? gone : left;
  return { left, burned, airdropped: left - burned };
}

/** What a message burns itself, where the chain does not keep what moved. What a batch does stands elsewhere. */
function burnedBy({ staticKeys, instructions }: WireMessage, { token }: OwnAccounts): bigint {
  const burns = instructions.filter(
    ({ programIndex, accountIndexes, data }) =>
      TOKEN_PROGRAMS.has(staticKeys[programIndex] ?? '') &&
      data[0] === TOKEN_INSTRUCTION.burnChecked &&
      staticKeys[accountIndexes[0] ?? -1] === token.burnTokenAccount,
  );
  return burns.reduce((sum, { data }) => sum + readBuffer(data).readBigUInt64LE(1), 0n);
}

/**
 * Looks a transaction up that has landed and succeeded.
 * @returns `undefined` for one that others have signed, or that took nothing.
 * @throws `ERR_UNAVAILABLE` when no node has it any more.
 */
export async function whatMoved(
  chain: Pick<Chain, 'lookUp'>,
  accounts: OwnAccounts,
  signature: string,
): Promise<LostTransaction | undefined> {
  const [record] = await chain.lookUp([signature]);
  if (record == null || record.wire === null)
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The node lists the transaction ${signature} but cannot return it.`,
    );
  const { message } = decodeTransaction(record.wire);
  const signers = message.staticKeys.slice(0, message.signers);
  const { token, flywheel } = accounts;
  if (!signers.includes(token.burnWallet) && !signers.includes(flywheel.operator)) return undefined;
  if (record.error !== null) return undefined;
  const told = { signature, memo: memosOf(message), dateLanded: dateLanded(record) ?? null };
  // Where the chain does not keep what moved, whatever our keys have signed is taken for a loss.
  if (record.tokenChanges === undefined)
    return { ...told, burned: burnedBy(message, accounts), airdropped: 0n };
  const { left, burned, airdropped } = amountsOf(accounts, record.tokenChanges);
  return left === 0n ? undefined : { ...told, burned, airdropped };
}
