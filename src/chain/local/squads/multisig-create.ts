/** multisigCreateV2 and its retired first form (squads-v4.md, section 7.1). */
import {
  ACCOUNT_SIZE,
  MULTISIG,
  type Multisig,
  NO_AUTHORITY,
  PROGRAM_CONFIG,
  type ProgramConfig,
} from '../../squads/layouts/accounts.js';
import { derive, SEEDS } from '../../squads/layouts/addresses.js';
import type { ArgumentsByName } from '../../squads/layouts/instructions.js';
import { transfer } from '../../system.js';
import { addressIs, isWritable, newState, raw, readState, signer, systemProgram } from './account-rules.js';
import { instruction, type Loaded, type Plain, type Scope } from './definition.js';
import { compareKeys, MULTISIG_RULES } from './multisig-rules.js';
import { requireRules } from './run-instruction.js';

const LAMPORTS_PER_SOL = 1_000_000_000n;

/** A type alias, so that it can stand for any list of named accounts. */
type Accounts = {
  programConfig: Loaded<ProgramConfig>;
  treasury: Plain;
  multisig: Loaded<Multisig>;
  createKey: Plain;
  creator: Plain;
  systemProgram: Plain;
};
type CreateScope = Scope<Accounts, ArgumentsByName['multisigCreateV2']>;

function fill({ accounts, args }: CreateScope): Multisig {
  return {
    createKey: accounts.createKey.address,
    configAuthority: args.configAuthority ?? NO_AUTHORITY,
    threshold: args.threshold,
    timeLockSeconds: args.timeLockSeconds,
    transactionIndex: 0n,
    staleTransactionIndex: 0n,
    rentCollector: args.rentCollector,
    bump: derive(SEEDS.multisig(accounts.createKey.address)).bump,
    members: [...args.members].sort((left, right) => compareKeys(left.key, right.key)),
  };
}

function payFee({ accounts, invocation }: CreateScope): void {
  const lamports = accounts.programConfig.value.multisigCreationFeeLamports;
  if (lamports === 0n) return;
  invocation.invoke(
    [transfer({ from: accounts.creator.address, to: accounts.treasury.address, lamports })],
    [],
  );
  invocation.log(`Creation fee: ${lamports / LAMPORTS_PER_SOL}`);
}

export const multisigCreateV2 = instruction<'multisigCreateV2', Accounts>({
  name: 'multisigCreateV2',
  accounts: {
    programConfig: readState(PROGRAM_CONFIG, [
      addressIs(({ accounts }) => accounts.programConfig, { seeds: SEEDS.programConfig, bump: 'canonical' }),
    ]),
    treasury: raw([isWritable(({ accounts }) => accounts.treasury)]),
    multisig: newState(MULTISIG, {
      seeds: ({ accounts }) => SEEDS.multisig(accounts.createKey.address),
      size: ({ args }) => ACCOUNT_SIZE.multisig(args.members.length),
      payer: ({ accounts }) => accounts.creator.address,
    }),
    createKey: signer(),
    creator: signer([isWritable(({ accounts }) => accounts.creator)]),
    systemProgram,
  },
  checks: [
    {
      error: 'InvalidAccount',
      holds: ({ accounts }) => accounts.treasury.address === accounts.programConfig.value.treasury,
    },
  ],
  effect: (scope) => {
    scope.accounts.multisig.value = fill(scope);
    requireRules(scope.invocation, MULTISIG_RULES, scope.accounts.multisig.value);
    payFee(scope);
  },
});

/** Takes one account and always fails. */
export const multisigCreate = instruction<'multisigCreate', { nothing: Plain }>({
  name: 'multisigCreate',
  accounts: { nothing: raw() },
  checks: [{ error: 'MultisigCreateDeprecated', holds: () => false }],
  effect: () => {},
});
