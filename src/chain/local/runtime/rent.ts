/** The rule that closes a transaction: no account may be left with lamports below its rent minimum (squads-v4.md, section 4). */
import type { AccountState } from '../../account.js';
import { rentExemptLamports } from '../../account.js';

const INCINERATOR = '1nc1nerator11111111111111111111111111111111';

/**
 * May an account go from one state to the other in a transaction? Empty and rent-exempt always; one that was below its
 * minimum already may stay so if it loses nothing, keeps its owner and does not grow (as LiteSVM 1.5.0 and clusters since
 * SIMD-0392 have it).
 */
export function mayStandAs(
  address: string,
  before: AccountState | null,
  after: AccountState | null,
): boolean {
  if (after === null || after.lamports >= rentExemptLamports(after.data.length)) return true;
  if (address === INCINERATOR) return true;
  return (
    before !== null &&
    after.lamports >= before.lamports &&
    after.owner === before.owner &&
    after.data.length <= before.data.length
  );
}
