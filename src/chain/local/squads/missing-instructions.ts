/** The instructions of Squads v4 that the native program does not have, by name, so that calling one does not look like a slip. */
import { hash } from 'node:crypto';
import { partOf, type ReadonlyBytes, readBuffer } from '../../../values/bytes.js';
import { IDENTIFIER_BYTES } from '../../squads/layouts/instructions.js';
import { snakeCase } from './errors.js';

/** As logs name them. */
const LOG_NAMES = [
  // Configuration of the program
  'ProgramConfigInit',
  'ProgramConfigSetAuthority',
  'ProgramConfigSetMultisigCreationFee',
  'ProgramConfigSetTreasury',
  // Configuration of a multisig, by its authority or by vote
  'MultisigAddMember',
  'MultisigRemoveMember',
  'MultisigSetTimeLock',
  'MultisigChangeThreshold',
  'MultisigSetConfigAuthority',
  'MultisigSetRentCollector',
  'ConfigTransactionCreate',
  'ConfigTransactionExecute',
  'ConfigTransactionAccountsClose',
  // Spending limits
  'MultisigAddSpendingLimit',
  'MultisigRemoveSpendingLimit',
  'SpendingLimitUse',
  // Messages that come in parts
  'TransactionBufferCreate',
  'TransactionBufferExtend',
  'TransactionBufferClose',
  'VaultTransactionCreateFromBuffer',
] as const;

/** First 8 bytes of SHA-256 of `global:<snake_case_name>`, as hex. */
const identifierOf = (logName: string): string => {
  const name = snakeCase(logName.charAt(0).toLowerCase() + logName.slice(1));
  return hash('sha256', `global:${name}`, 'hex').slice(0, 2 * IDENTIFIER_BYTES);
};

/** Log name of the instruction that the data begins with if it is one of these. */
export function missingInstruction(data: ReadonlyBytes): string | undefined {
  const identifier = readBuffer(partOf(data, 0, IDENTIFIER_BYTES)).toString('hex');
  return LOG_NAMES.find((name) => identifierOf(name) === identifier);
}
