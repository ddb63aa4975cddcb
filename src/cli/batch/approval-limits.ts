/**
 * Holds a batch against the limits in force and against what has been approved before, and counts it for the day: before the
 * question, for all processes at once, and let go of when nothing comes of it.
 */
import {
  type Asked,
  type KnownAddress,
  type LookAlike,
  lookAlikes,
  needsDigest,
  outflowOf,
  requireWithinDay,
  requireWithinLimits,
  totalOutflow,
} from '../../approval/limits.js';
import type { Pins } from '../../approval/pins.js';
import type { LimitSetting, Settings } from '../../compose/settings.js';
import { invariant } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { Session } from '../command.js';
import { namedText } from '../operation/elements.js';
import {
  type ApprovalRecord,
  type EarlierApproval,
  type Known,
  openApprovalRecord,
} from './approval-record.js';
import { refuse } from './pins.js';
import type { Review } from './review.js';

/** A batch that is within all limits, counted for today. */
export interface HeldApproval {
  /** Sentences about recipients that look like known addresses, and about a batch that was approved under another number. */
  readonly alarms: readonly string[];
  /** Sentences about what has not been seen before. */
  readonly news: readonly string[];
  /** Recipients that no batch has had that was approved here; `null` where none was. */
  readonly strangers: ReadonlySet<Address> | null;
  /** The first characters of its digest, where they are what has to be typed; else `null`. */
  readonly typed: string | null;
  /** It is written down as approved; to be called before the signature is handed out. */
  signed(): void;
  /** Lets go of what was not signed. */
  close(): void;
}

/** Characters of the digest that stand for a y. */
const TYPED_DIGEST_LENGTH = 8;

/** Completes a question that is answered with them. */
export const TYPE_DIGEST = `Large batch. To confirm, type the first ${TYPED_DIGEST_LENGTH} characters of the digest, after "sha256:"`;

const whose = ({ source }: LimitSetting, { profile }: Settings): string =>
  source === 'flag' ? 'the file of --pins' : `the profile ${profile.value}`;

/** The record of approvals through the directory that these settings name. */
export const openRecord = ({ context, settings }: Session): Promise<ApprovalRecord> =>
  openApprovalRecord({
    directory: settings.apiUrl.value === null ? settings.dataDir.value : settings.configDir.value,
    processes: context.processes,
    clock: context.clock,
  });

/**
 * Looks whether what is going to be set up could be approved as things stand; nothing is counted.
 * @throws `ERR_APPROVAL_REFUSED` naming the limit, what is asked and what is used.
 */
export async function requirePlanWithinLimits(session: Session, pins: Pins, asked: Asked): Promise<void> {
  const { settings } = session;
  if (settings.limits.length === 0) return;
  const record = await openRecord(session);
  try {
    const used = record.usedToday(pins);
    for (const limits of settings.limits) {
      requireWithinLimits(limits.value, asked, whose(limits, settings));
      requireWithinDay(limits.value, asked, used, whose(limits, settings));
    }
  } finally {
    record.close();
  }
}

/**
 * Holds a batch against every limit and counts it for today.
 * @throws `ERR_APPROVAL_REFUSED` naming the limit, what is asked and what is used; `ERR_STORE_UNAVAILABLE`.
 */
export async function holdApproval(
  session: Session,
  batchId: string,
  { description, token }: Review,
  pins: Pins,
): Promise<HeldApproval> {
  const { settings } = session;
  const { pipelines, digest, batchIndex } = description;
  invariant(pipelines !== null && digest !== null, 'What has been checked is a batch of pipelines.');
  const outflow = outflowOf(pipelines);
  const asked: Asked = { outflow, decimals: token.flywheel.decimals };
  for (const limits of settings.limits) requireWithinLimits(limits.value, asked, whose(limits, settings));
  const record = await openRecord(session);
  try {
    const { multisig, mint } = pins;
    const profile = settings.profile.value ?? '';
    const batch = { multisig, mint, batchIndex, digest, batchId, profile, outflow };
    const reservation = record.reserve(batch, (used, renamed) => {
      if (renamed !== null)
        throw refuse(
          `The service says that batch ${batchId} is number ${batchIndex} of the multisig. When it was approved on ${renamed.date} it was number ${renamed.batchIndex}.`,
          `Stop and investigate: both batches may be executed. Compare them with \`flywheel batch inspect\` and a block explorer.`,
        );
      for (const limits of settings.limits)
        requireWithinDay(limits.value, asked, used, whose(limits, settings));
    });
    return {
      strangers: reservation.known.count === 0 ? null : new Set(reservation.known.unseen),
      ...remarksOn(reservation.known, asked, pins, token.flywheel),
      typed: settings.limits.some((limits) => needsDigest(limits.value, asked))
        ? digest.slice(0, TYPED_DIGEST_LENGTH)
        : null,
      signed: reservation.signed,
      close: () => {
        try {
          reservation.release();
        } finally {
          record.close();
        }
      },
    };
  } catch (error) {
    record.close();
    throw error;
  }
}

const lookAlikeText = ({ recipient, like }: LookAlike): string =>
  `LOOK-ALIKE: the recipient ${recipient} resembles ${like.address} (${like.as}) but is a different address.`;

const twinText = ({ batchId, batchIndex, date }: EarlierApproval): string =>
  `TWICE: an identical batch was approved on ${date}: batch ${batchId} (number ${batchIndex}). Approving this one pays twice.`;

function remarksOn(
  { twin, count, largest, unseen, alike }: Known,
  { outflow, decimals }: Asked,
  pins: Pins,
  { vault, vaultTokenAccount }: Review['token']['flywheel'],
): Pick<HeldApproval, 'alarms' | 'news'> {
  const recipients = [...outflow.recipients.keys()];
  const as = (text: string, addresses: Iterable<KnownAddress['address']>): readonly KnownAddress[] =>
    [...addresses].map((address) => ({ address, as: text }));
  const { multisig, owner, operator, mint } = pins;
  const known = [
    ...as('an address of the project', [multisig, owner, operator, mint, vault, vaultTokenAccount]),
    ...as('a recipient of earlier batches', alike),
    ...as('another recipient of this batch', recipients),
  ];
  const total = totalOutflow(outflow);
  return {
    alarms: [...(twin === null ? [] : [twinText(twin)]), ...lookAlikes(recipients, known).map(lookAlikeText)],
    news:
      count === 0
        ? ['First approval of this project on this machine: all recipients are new.']
        : [
            ...(unseen.length === 0 ? [] : [`New recipients: ${namedText(unseen)}.`]),
            ...(largest === null || total <= largest
              ? []
              : [
                  `This is the largest batch so far: ${formatTokenAmount(total, decimals)} tokens. The largest before had ${formatTokenAmount(largest, decimals)}.`,
                ]),
          ],
  };
}
