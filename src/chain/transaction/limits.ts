/** Limits of one transaction, each with its unit and source; what to do about them is decided by the planner. */

/** Bytes of a signed wire transaction: the IPv6 minimum MTU of 1280 less 48 of headers (solana-packet, `PACKET_DATA_SIZE`). */
export const TRANSACTION_SIZE_LIMIT_BYTES = 1_232;
/** Distinct accounts a transaction may lock (agave, `MAX_TX_ACCOUNT_LOCKS`; measured, squads-v4.md section 10). */
export const MAX_TRANSACTION_ACCOUNTS = 64;
/** Instructions a transaction may run, every inner call counted (agave, `MAX_INSTRUCTION_TRACE_LENGTH`). */
export const MAX_INSTRUCTION_TRACE = 64;
/** Most compute units that a transaction may ask for (agave, `MAX_COMPUTE_UNIT_LIMIT`). */
export const MAX_COMPUTE_UNITS = 1_400_000;
/** Compute units an instruction of a non-builtin program has when no limit is set. */
export const DEFAULT_INSTRUCTION_COMPUTE_UNITS = 200_000;
/** Micro-lamports in a lamport; the price of a compute unit is given in them. */
export const MICRO_LAMPORTS_PER_LAMPORT = 1_000_000n;
