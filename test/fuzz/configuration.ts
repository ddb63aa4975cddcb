/** Applies the effects of instructions that the native program lacks: members, threshold, time lock, collector, staleness. */
import {
  ACCOUNT_SIZE,
  type Address,
  addressBytes,
  compareBytes,
  encodeAccount,
  MULTISIG,
  type Multisig,
  rentExemptLamports,
  SQUADS_PROGRAM,
  vaultAddress,
} from './program.js';
import type { World } from './world.js';

const byKey = (left: { key: Address }, right: { key: Address }): number =>
  compareBytes(addressBytes(left.key), addressBytes(right.key));

function newMember(world: World): Address {
  const vaults = world.multisigs.map(({ address }) => vaultAddress(address, 0).address);
  return world.random.oneIn(3) && vaults.length > 0 ? world.random.pick(vaults) : world.wallet().address;
}

/** One configuration action, as a vote or the authority applies it. */
function changed(world: World, state: Multisig): Multisig {
  const { random } = world;
  const { members } = state;
  switch (random.below(8)) {
    case 0: {
      const gone = random.below(members.length);
      return { ...state, members: members.filter((_, at) => at !== gone) };
    }
    case 1: {
      const at = random.below(members.length);
      const masked = members.map((member, place) =>
        place === at ? { ...member, permissions: random.below(8) } : member,
      );
      return { ...state, members: masked };
    }
    case 2:
      return { ...state, threshold: 1 + random.below(members.length) };
    case 3:
      return { ...state, timeLockSeconds: random.oneIn(2) ? 0 : random.below(90) };
    case 4:
      return { ...state, rentCollector: random.oneIn(3) ? null : world.wallet().address };
    default: {
      const key = newMember(world);
      if (members.some((member) => member.key === key)) return state;
      return { ...state, members: [...members, { key, permissions: 7 }].sort(byKey) };
    }
  }
}

const having = ({ members }: Multisig, bit: number): number =>
  members.filter(({ permissions }) => (permissions & bit) !== 0).length;

/** The program's invariant after every change. */
const isSound = (state: Multisig): boolean =>
  having(state, 1) > 0 && having(state, 4) > 0 && state.threshold <= having(state, 2) && state.threshold > 0;

/** Usually makes earlier proposals stale, and sometimes the multisig invalid. */
export function reconfigure(world: World, address: Address, before: Multisig): void {
  const account = world.get(address);
  const { random } = world;
  if (account === null || before.members.length === 0) return;
  const next = changed(world, before);
  if (!isSound(next) && !random.oneIn(8)) return;
  const staleTransactionIndex = random.oneIn(3) ? before.staleTransactionIndex : before.transactionIndex;
  // The account grows and never shrinks; bytes after a shorter value stay.
  const data = Buffer.alloc(Math.max(account.data.length, ACCOUNT_SIZE.multisig(next.members.length)));
  data.set(account.data);
  data.set(encodeAccount(MULTISIG, { ...next, staleTransactionIndex }));
  const rent = rentExemptLamports(data.length);
  world.put(address, data, SQUADS_PROGRAM, rent > account.lamports ? rent : account.lamports);
}
