/** What holds of all operations, and how an approval is signed: the part of the page that is read first. */
import { REQUEST_ID_HEADER } from '../../contract/headers.js';
import { code, codeBlock, link, prose, section } from './markup.js';

/** How a key is given. */
export interface KeyWays {
  readonly apiKeyHeader: string;
  readonly bearer: boolean;
}

/** Signs the approval that is in APPROVAL_TX with the keypair file of its owner. */
export const SIGNING_SAMPLE = `import { readFileSync } from 'node:fs';
import { env } from 'node:process';
import { Keypair, VersionedTransaction } from '@solana/web3.js';

const secret = JSON.parse(readFileSync(env.OWNER_KEYPAIR!, 'utf8'));
const owner = Keypair.fromSecretKey(Uint8Array.from(secret));
const approval = VersionedTransaction.deserialize(Buffer.from(env.APPROVAL_TX!, 'base64'));
approval.sign([owner]);
console.log(Buffer.from(approval.serialize()).toString('base64'));`;

const paragraph = (text: string): string => `<p>${prose(text)}</p>`;

/** What the samples take from the environment. */
const VARIABLES: readonly (readonly [string, string])[] = [
  ['FLYWHEEL_URL', 'where this service is, without a slash at its end'],
  ['FLYWHEEL_API_KEY', 'the API key'],
  ['IDEMPOTENCY_KEY', 'made once for each thing to do (`uuidgen`), and kept until its answer is there'],
  ['BATCH_ID', '`batch.id` of the answer of init'],
  ['SIGNED_TX', 'what the owner has signed, see below'],
];

function calling({ apiKeyHeader, bearer }: KeyWays): string {
  const rows = VARIABLES.map(([name, what]) => `<dt>${code(name)}</dt><dd>${prose(what)}</dd>`);
  return section(
    'calling',
    'Calling the service',
    paragraph(
      `Every request carries the API key in \`${apiKeyHeader}\`${bearer ? ', or as a bearer token in `authorization`' : ''}. Bodies are JSON, and so is every answer. Amounts are numbers of whole tokens; where an answer has them as text, that text is exact.`,
    ),
    paragraph(
      `Every answer has \`${REQUEST_ID_HEADER}\`, by which those who run the service find it in their log.`,
    ),
    '<p>The samples read these variables of the environment:</p>',
    `<dl>${rows.join('')}</dl>`,
  );
}

const repeating = (): string =>
  section(
    'repeating',
    'When an answer is lost',
    paragraph(
      'Send the same request again under the same idempotency key. Where it had succeeded, the answer is the first one, and nothing is done; where it is still running, it is 409 with `retry-after`. Never make a new key for a request of which you do not know what became: it would burn twice.',
    ),
    paragraph(
      'A batch needs no key to be executed: it is executed once, however often it is asked for, and the answer is always the stored one.',
    ),
  );

const limiting = (): string =>
  section(
    'limits',
    'Limits of rate',
    `<p>Each operation has its own, for each key. ${code('RateLimit')} says what is left; beyond it the answer is 429, and ${code('retry-after')} says for how many seconds to wait.</p>`,
  );

const approving = (): string =>
  section(
    'approval',
    'Signing the approval',
    `<p>${link('initBatch', 'Init')} answers with ${code('proposalApproveTx')}: a transaction that the operator has signed, and that approves the batch once its owner has signed it too. The service never has the key of the owner.</p>`,
    paragraph(
      'Do not sign what you have not read. `flywheel batch approve` reads the batch from the chain, compares it with your file, tries it out, shows in words what it pays and burns, and refuses what it does not understand; `flywheel batch inspect` only shows it. What a program of your own does at the end is this:',
    ),
    codeBlock('Sign the approval, in TypeScript', 'typescript', SIGNING_SAMPLE),
    `<p>What it prints is ${code('signedTx')} of ${link('executeBatch', 'execute')}. It is good for about a minute; ${link('issueApproval', 'a fresh one')} can be had as long as the batch waits for it.</p>`,
  );

/** The guides, with what the list of contents calls them. */
export const guides = (
  ways: KeyWays,
): readonly { readonly id: string; readonly title: string; readonly html: string }[] => [
  { id: 'calling', title: 'Calling the service', html: calling(ways) },
  { id: 'repeating', title: 'When an answer is lost', html: repeating() },
  { id: 'limits', title: 'Limits of rate', html: limiting() },
  { id: 'approval', title: 'Signing the approval', html: approving() },
];
