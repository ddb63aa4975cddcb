/** Instructions of the real program only: the embedded program refuses each by name. */
import type { Case } from './account-cases.js';
import { fixtureOf } from './fixture.js';

/** Discriminator of each instruction, by its name in logs. */
const IDENTIFIERS: Readonly<Record<string, string>> = {
  ProgramConfigInit: 'b8bcc6c3cd7c75d8',
  ProgramConfigSetAuthority: 'eef224b5208fd84b',
  ProgramConfigSetMultisigCreationFee: '65a0f93f9ad7990d',
  ProgramConfigSetTreasury: '6f2ef37590bca26b',
  MultisigAddMember: '01dbd76cb8e5d608',
  MultisigRemoveMember: 'd975b1d2b691da48',
  MultisigSetTimeLock: '949a794dd4fe9b48',
  MultisigChangeThreshold: '8d2a0f7ea95c3eb5',
  MultisigSetConfigAuthority: '8f5dc78f5ca9c1e8',
  MultisigSetRentCollector: '30cc4139d2469c4a',
  ConfigTransactionCreate: '9bec57e4894b5127',
  ConfigTransactionExecute: '7292f4bdfc8c2428',
  ConfigTransactionAccountsClose: '50cb54359770bbba',
  MultisigAddSpendingLimit: '0bf29f2a56c55973',
  MultisigRemoveSpendingLimit: 'e4c6886f7b04b271',
  SpendingLimitUse: '1039827fc1149b86',
  TransactionBufferCreate: 'f5c9716c253f1d59',
  TransactionBufferExtend: 'e69d433805eef592',
  TransactionBufferClose: '11b6d0e48818b266',
  VaultTransactionCreateFromBuffer: 'de36954457f630e7',
};

export const missingCases = (): readonly Case[] =>
  Object.entries(IDENTIFIERS).map(([name, identifier]) => ({
    name: `${name} is not there`,
    check: () => {
      const fixture = fixtureOf('proposal-activate/ok-batch');
      fixture.instruction = { ...fixture.instruction, data: Buffer.from(`${identifier}00`, 'hex') };
      const { end, logs } = fixture.run();
      const said = logs.some((line) => line.includes(`does not support ${name};`));
      const named = logs.includes(`Program log: Instruction: ${name}`);
      return end === 'UnsupportedInstruction' && said && named ? null : `${end}\n${logs.join('\n')}`;
    },
  }));
