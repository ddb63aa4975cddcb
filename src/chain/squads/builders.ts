/** The Squads instructions that this project sends (docs/squads-v4.md, section 7), and votes as transactions (sections 7.5 to 7.7). */
import type { Address } from '../../values/address.js';
import { base58Encode } from '../../values/base58.js';
import { type ReadonlyBytes, sameBytes } from '../../values/bytes.js';
import { type Instruction, type Message, staticAccounts } from '../transaction/message.js';
import {
  compileLegacyMessage,
  compileV0Message,
  decodeTransaction,
  type MessageInput,
  type WireTransaction,
} from '../transaction/wire.js';
import {
  batchTransactionAddress,
  multisigAddress,
  programConfigAddress,
  proposalAddress,
  transactionAddress,
} from './addresses.js';
import {
  type AccountValues,
  type ArgumentsOf,
  type GivenAccounts,
  type InstructionName,
  squadsInstruction,
} from './instructions.js';

/** What {@link multisigCreateV2} sets up. */
interface MultisigCreateInput extends Omit<ArgumentsOf<'multisigCreateV2'>, 'memo'> {
  /** Signs once, so that nobody else can take the multisig's address. */
  readonly createKey: Address;
  /** Pays rent and creation fee. */
  readonly creator: Address;
  /** The treasury that the program's configuration names. */
  readonly treasury: Address;
}

/** Creates the multisig of a create key. */
export const multisigCreateV2 = ({
  createKey,
  creator,
  treasury,
  ...terms
}: MultisigCreateInput): Instruction =>
  squadsInstruction(
    'multisigCreateV2',
    {
      programConfig: programConfigAddress().address,
      treasury,
      multisig: multisigAddress(createKey).address,
      createKey,
      creator,
    },
    { ...terms, memo: null },
  );

/** A batch of a multisig. */
export interface BatchRef {
  readonly multisig: Address;
  /** Its place in the multisig's count of transactions. */
  readonly batchIndex: bigint;
}

/** The accounts that follow from the batch, and from the place in it. */
type Derived = 'multisig' | 'proposal' | 'batch' | 'transaction';

/** A batch, the number of the transaction where one is named, and every other account by its name in the instruction. */
type BatchInput<Name extends InstructionName> = BatchRef &
  Omit<GivenAccounts<Name>, Derived> &
  ('transaction' extends keyof AccountValues<Name> ? { readonly number: number } : unknown);

/** @param values - its arguments. @param remaining - accounts behind the listed ones. */
const ofBatch =
  <Name extends InstructionName, More = unknown>(
    name: Name,
    values: (input: BatchRef & More) => ArgumentsOf<Name>,
    remaining?: (input: More) => Instruction['accounts'],
  ) =>
  (input: BatchInput<Name> & More): Instruction => {
    const { multisig, batchIndex, number } = input as BatchRef & { readonly number?: number };
    const accounts = {
      ...input,
      proposal: proposalAddress(multisig, batchIndex).address,
      batch: transactionAddress(multisig, batchIndex).address,
      transaction: number && batchTransactionAddress(multisig, batchIndex, number).address,
    };
    return squadsInstruction(
      name,
      accounts as unknown as GivenAccounts<Name>,
      values(input),
      remaining?.(input),
    );
  };

/** Opens an empty batch; `batchIndex` must be the multisig's transaction index + 1. Its creator alone may add to it. */
export const batchCreate = ofBatch(
  'batchCreate',
  ({ vaultIndex }: { /** All transactions of the batch act for it. */ readonly vaultIndex: number }) => ({
    vaultIndex,
    memo: null,
  }),
);

/** Opens the proposal of a batch. */
export const proposalCreate = ofBatch(
  'proposalCreate',
  ({
    batchIndex,
    draft,
  }: BatchRef & { /** Can still grow and cannot be voted on. */ readonly draft: boolean }) => ({
    transactionIndex: batchIndex,
    draft,
  }),
);

/** Appends a transaction to a batch whose proposal is a draft; `number` is the batch's size + 1. */
export const batchAddTransaction = ofBatch(
  'batchAddTransaction',
  ({
    message,
  }: {
    /** In argument form, as `vaultMessage` makes it. */ readonly message: ReadonlyBytes;
  }) => ({
    ephemeralSigners: 0,
    message,
  }),
);

/** Ends the draft; from then on members vote. */
export const proposalActivate = ofBatch('proposalActivate', () => ({}));
export const proposalApprove = ofBatch('proposalApprove', () => ({ memo: null }));
export const proposalReject = ofBatch('proposalReject', () => ({ memo: null }));
/** A member's vote to cancel an approved proposal. */
export const proposalCancelV2 = ofBatch('proposalCancelV2', () => ({ memo: null }));

/** What running a transaction of a batch needs beside its accounts. */
interface ExecuteInput {
  /** The vault that acts; signs by the program, not from outside. */
  readonly vault: Address;
  /** Of the transaction that is run; without lookup tables. */
  readonly message: Message;
}

/** Runs the next transaction of an approved batch; `number` is the batch's executed transactions + 1. */
export const batchExecuteTransaction = ofBatch(
  'batchExecuteTransaction',
  () => ({}),
  ({ vault, message }: ExecuteInput) =>
    staticAccounts(message).map((account) =>
      account.address === vault ? { ...account, signer: false } : account,
    ),
);

/** Closes the last transaction of a batch that is over; `number` is the batch's size. Nobody has to sign. */
export const vaultBatchTransactionAccountClose = ofBatch('vaultBatchTransactionAccountClose', () => ({}));

/** Closes a batch without transactions, and its proposal. Nobody has to sign. */
export const batchAccountsClose = ofBatch('batchAccountsClose', () => ({}));

/** `cancel` is a vote against what has been approved, `reject` against what has not. */
export type VoteKind = 'approve' | 'reject' | 'cancel';

/** What each is called, by people and by the program. */
export const VOTES = {
  approve: { noun: 'approval', instruction: 'proposalApprove' },
  reject: { noun: 'rejection', instruction: 'proposalReject' },
  cancel: { noun: 'cancellation', instruction: 'proposalCancelV2' },
} as const satisfies Record<VoteKind, { readonly noun: string; readonly instruction: string }>;

const BUILDERS = { approve: proposalApprove, reject: proposalReject, cancel: proposalCancelV2 } as const;

/** A member's act on the proposal of a batch. */
interface MemberInput extends BatchRef {
  readonly member: Address;
}

/** A vote as an instruction. */
export const voteInstruction = (kind: VoteKind, input: MemberInput): Instruction => BUILDERS[kind](input);

/** A vote as a message: that one instruction, and nothing else but a limit and a price of compute units. */
export interface VoteMessageInput extends MemberInput {
  readonly kind: VoteKind;
  readonly payer: Address;
  /** Base58. */
  readonly blockhash: string;
  /** @default none */
  readonly budget?: readonly Instruction[];
}

const voteTransaction = ({
  kind,
  payer,
  blockhash,
  budget = [],
  ...input
}: VoteMessageInput): MessageInput => ({
  payer,
  blockhash,
  instructions: [...budget, voteInstruction(kind, input)],
});

/** The form in which votes are handed out: version 0. */
export const voteMessage = (input: VoteMessageInput): Uint8Array => compileV0Message(voteTransaction(input));

/** Is this the message of such a vote, as version 0 or legacy? */
export const isVoteMessage = (messageBytes: ReadonlyBytes, input: VoteMessageInput): boolean =>
  sameBytes(voteMessage(input), messageBytes) ||
  sameBytes(compileLegacyMessage(voteTransaction(input)), messageBytes);

/** The bytes of an approval, or of another vote, and what they hold; decoded once, and passed on as this from then on. */
export interface DecodedApproval extends WireTransaction {
  readonly bytes: Uint8Array;
  /** Base58; the name of the transaction on chain once its payer has signed. */
  readonly signature: string | undefined;
  readonly payer: Address | undefined;
  /** Base58. */
  readonly blockhash: string;
}

/**
 * Whether it is a vote at all is looked at by others.
 * @throws `ERR_INVALID_REQUEST` for bytes that are no transaction.
 */
export function decodeApproval(bytes: Uint8Array): DecodedApproval {
  const transaction = decodeTransaction(bytes);
  const { signatures, message } = transaction;
  const [signature] = signatures;
  return {
    ...transaction,
    bytes,
    signature: signature && base58Encode(signature),
    payer: message.staticKeys[0],
    blockhash: base58Encode(message.blockhash),
  };
}
