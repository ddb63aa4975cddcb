/** The data of an address lookup table, as a program reads it; a deactivated one reads like any other. */
import { ADDRESS_LENGTH_BYTES, type Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import { key, option, struct, tryDecode, u8, u32, u64 } from '../../squads/layouts/codec.js';
import { LOOKUP_TABLE_META_BYTES, tableEntry } from '../runtime/resolve.js';

/** Kind of account that holds addresses; 0 is one not made yet (solana-address-lookup-table-interface, `ProgramState`). */
const INITIALISED = 1;

const meta = struct<{
  kind: number;
  deactivationSlot: bigint;
  lastExtendedSlot: bigint;
  lastExtendedStart: number;
  authority: Address | null;
}>({
  kind: u32,
  deactivationSlot: u64,
  lastExtendedSlot: u64,
  lastExtendedStart: u8,
  authority: option(key),
});

/** The addresses of an initialised table, or `undefined` for other data. */
export function readLookupTable(data: ReadonlyBytes): readonly Address[] | undefined {
  if (tryDecode(meta, data)?.kind !== INITIALISED) return undefined;
  const bytes = data.length - LOOKUP_TABLE_META_BYTES;
  if (bytes < 0 || bytes % ADDRESS_LENGTH_BYTES !== 0) return undefined;
  return Array.from({ length: bytes / ADDRESS_LENGTH_BYTES }, (_, index) => tableEntry(data, index)).filter(
    (entry) => entry !== undefined,
  );
}
