/** Counts votes from transactions alone, independent of the program's accounts. */
import {
  type AccountState,
  type Address,
  decodeAccount,
  instructionName,
  type Message,
  MULTISIG,
  type ReadonlyBytes,
  SQUADS_PROGRAM,
  VAULT_BATCH_TRANSACTION,
  VAULT_TRANSACTION,
} from './program.js';

type Read = (address: Address) => AccountState | null;

interface Told {
  readonly program: Address;
  readonly accounts: readonly Address[];
  readonly data: ReadonlyBytes;
}

interface Ballot {
  readonly approvals: Set<Address>;
  readonly cancellations: Set<Address>;
  passed: boolean;
}

export class VoteBook {
  readonly #ballots = new Map<Address, Ballot>();

  /** Records a successful transaction. @returns the violation: an execution without enough votes. */
  record(instructions: readonly Told[], read: Read): string | null {
    for (const told of instructions) {
      const wrong = told.program === SQUADS_PROGRAM ? this.#take(told, read) : null;
      if (wrong !== null) return wrong;
    }
    return null;
  }

  #take({ accounts, data }: Told, read: Read): string | null {
    const name = instructionName(data);
    const [first, second, third, , fifth] = accounts;
    if (first === undefined || second === undefined) return null;
    switch (name) {
      case 'proposalCreate':
        this.#ballots.set(second, { approvals: new Set(), cancellations: new Set(), passed: false });
        return null;
      case 'proposalApprove':
      case 'proposalReject':
      case 'proposalCancel':
      case 'proposalCancelV2':
        if (third !== undefined) this.#vote(name, first, second, third, read);
        return null;
      case 'batchExecuteTransaction':
        return this.#execute(third, messageAt(fifth, read), accounts.slice(5), read);
      case 'vaultTransactionExecute':
        return this.#execute(second, messageAt(third, read), accounts.slice(4), read);
      default:
        return null;
    }
  }

  #vote(name: string, multisig: Address, member: Address, proposal: Address, read: Read): void {
    const ballot = this.#ballots.get(proposal);
    const state = decodeAccount(MULTISIG, read(multisig)?.data ?? new Uint8Array(0));
    if (ballot === undefined || state === undefined) return;
    const { approvals, cancellations } = ballot;
    if (name === 'proposalReject') approvals.delete(member);
    if (name === 'proposalApprove') {
      approvals.add(member);
      ballot.passed = approvals.size >= state.threshold;
    }
    if (!name.startsWith('proposalCancel')) return;
    // Approvals of former members still count, their cancellations do not.
    for (const key of cancellations)
      if (state.members.every((one) => one.key !== key)) cancellations.delete(key);
    cancellations.add(member);
    if (cancellations.size >= state.threshold) ballot.passed = false;
  }

  #execute(
    proposal: Address | undefined,
    message: Message | undefined,
    remaining: readonly Address[],
    read: Read,
  ): string | null {
    if (proposal === undefined || this.#ballots.get(proposal)?.passed !== true)
      return `executed ${proposal} without enough approvals`;
    // Created, executed and closed in one transaction.
    if (message === undefined) return null;
    const keys = indexSpace(message, remaining.slice(message.lookups.length));
    const inner = message.instructions.flatMap(({ programIndex, accountIndexes, data }) => {
      const program = keys[programIndex];
      return program === undefined
        ? []
        : [{ program, accounts: [...accountIndexes].flatMap((index) => keys[index] ?? []), data }];
    });
    return this.record(inner, read);
  }
}

/** Static keys, then all writable looked-up keys, then all read-only ones; accounts are given table by table. */
function indexSpace(message: Message, given: readonly Address[]): readonly Address[] {
  const writable: Address[] = [];
  const readonly: Address[] = [];
  let at = message.staticKeys.length;
  for (const { writableIndexes, readonlyIndexes } of message.lookups) {
    writable.push(...given.slice(at, at + writableIndexes.length));
    at += writableIndexes.length;
    readonly.push(...given.slice(at, at + readonlyIndexes.length));
    at += readonlyIndexes.length;
  }
  return [...message.staticKeys, ...writable, ...readonly];
}

function messageAt(address: Address | undefined, read: Read): Message | undefined {
  const data = (address === undefined ? null : read(address))?.data ?? new Uint8Array(0);
  return (decodeAccount(VAULT_BATCH_TRANSACTION, data) ?? decodeAccount(VAULT_TRANSACTION, data))?.message;
}
