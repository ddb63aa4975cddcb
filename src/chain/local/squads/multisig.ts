/** multisigCreateV2 and its retired first form (docs/squads-v4.md, section 7.1). */
import { ACCOUNT_SIZE, NO_AUTHORITY } from '../../squads/accounts.js';
import { SEEDS } from '../../squads/addresses.js';
import { transfer } from '../../system.js';
import { makeAccount } from './accounts.js';
import { fail } from './errors.js';
import { type Call, checkPlace, checkSound, checkWritable, compareKeys, ensure } from './rules.js';

const LAMPORTS_PER_SOL = 1_000_000_000n;

export function multisigCreateV2({ accounts, args, invocation }: Call<'multisigCreateV2'>): void {
  const { programConfig, treasury, multisig, createKey, creator } = accounts;
  const bump = makeAccount(invocation, multisig, {
    seeds: SEEDS.multisig(createKey.address),
    payer: creator,
    size: () => ACCOUNT_SIZE.multisig(args.members.length),
  });
  checkPlace(programConfig, SEEDS.programConfig(), 'canonical');
  checkWritable(treasury);
  checkWritable(creator);
  ensure(treasury.address === programConfig.value.treasury, 'InvalidAccount');
  multisig.value = {
    createKey: createKey.address,
    configAuthority: args.configAuthority ?? NO_AUTHORITY,
    threshold: args.threshold,
    timeLockSeconds: args.timeLockSeconds,
    transactionIndex: 0n,
    staleTransactionIndex: 0n,
    rentCollector: args.rentCollector,
    bump,
    members: [...args.members].sort((left, right) => compareKeys(left.key, right.key)),
  };
  checkSound(multisig.value);
  const lamports = programConfig.value.multisigCreationFeeLamports;
  if (lamports === 0n) return;
  invocation.invoke([transfer({ from: creator.address, to: treasury.address, lamports })], []);
  invocation.log(`Creation fee: ${lamports / LAMPORTS_PER_SOL}`);
}

export const multisigCreate = (): never => fail('MultisigCreateDeprecated');
