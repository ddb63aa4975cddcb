/** `batch cancel` of what nobody has approved: it is voted down after a look at it, and only a rejection is ever signed. */
import { PublicKey, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { instructions, PROGRAM_ID } from '@sqds/multisig';
import { beforeAll, describe, expect, it } from 'vitest';
import { initiated } from '../support/deeds.js';
import { describeLong, itLong } from '../support/long.js';
import { anOperator, makeTemplate, type Operator, type Template } from '../support/operator.js';
import { onTerminal } from '../support/terminal.js';

const REFUSED = 9;
const DECLINED = 130;

let template: Template;
beforeAll(async () => {
  template = await makeTemplate('--vault-tokens', '100');
});

const BIN = new URL('../../bin/flywheel.js', import.meta.url).pathname;

const cancelWords = ({ owner }: Operator, id: string): readonly string[] => [
  ...['batch', 'cancel', id, '--keypair', owner, '--yes', '--json'],
];

const OVER = { status: 'FAILED', dateCancelled: expect.any(String) };

describe('on this machine', () => {
  it('a batch that waits is over, and asking again says the same', async () => {
    const operator = await anOperator('embedded', template);
    const id = await initiated(operator, 'waits');
    const ended = await operator.run(...cancelWords(operator, id));
    expect(JSON.parse(ended.stdout)).toMatchObject({ id, ...OVER });
    // A script is told what it votes on.
    const notices = ended.stderr
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line).notice]));
    expect(notices.join('\n')).toMatch(/total burn +3 FLY\n/);
    expect(await operator.happened()).toMatchObject({ burned: '0', batches: ['CANCELLED'] });
    const { exit, stdout } = await operator.run(...cancelWords(operator, id));
    expect([exit, stdout]).toEqual([0, ended.stdout]);
    expect(await operator.pending()).toEqual([]);
  });

  itLong('a person sees it before the question, and a no leaves it as it was', async () => {
    const operator = await anOperator('embedded', template);
    const id = await initiated(operator, 'waits');
    const line = `'${process.execPath}' '${BIN}' batch cancel ${id} --keypair ${operator.owner}`;
    const { status, text } = await onTerminal(operator.directory, line, { NO_COLOR: '1' }, 'n');
    expect(status).toBe(DECLINED);
    expect(text).toMatch(/total burn +3 FLY\n.*Cancel batch .*Nothing was signed/s);
    expect(await operator.happened()).toMatchObject({ batches: ['FINALIZED'] });
    expect(await operator.pending()).toEqual([]);
  });
});

describeLong('over HTTP', () => {
  it('the owner signs a rejection of this batch where it is asked for, and nothing else', async () => {
    const operator = await anOperator('remote', template);
    const { gate } = operator;
    if (gate === null) throw new TypeError('There is nothing between this operator and the service.');
    const id = await initiated(operator, 'waits');
    const { multisig, owner } = template.made;
    const member = new PublicKey(owner.address);
    const wireOf = (kind: 'Approve' | 'Cancel' | 'Reject', transactionIndex: bigint): string => {
      const of = { multisigPda: new PublicKey(multisig), transactionIndex, member };
      const vote = instructions[`proposal${kind}`]({ ...of, programId: PROGRAM_ID });
      const terms = { payerKey: member, recentBlockhash: multisig, instructions: [vote] };
      const unsigned = new VersionedTransaction(new TransactionMessage(terms).compileToV0Message());
      return Buffer.from(unsigned.serialize()).toString('base64');
    };
    const asked = async (wire: string) => {
      gate.fate = ({ path }) =>
        path.endsWith('/cancel') ? { answer: { ownerVoteNeeded: true, cancelTx: wire } } : 'pass';
      return operator.run(...cancelWords(operator, id));
    };
    for (const wire of [wireOf('Approve', 1n), wireOf('Cancel', 1n), wireOf('Reject', 2n)])
      expect(await asked(wire)).toMatchObject({ exit: REFUSED, stdout: '' });
    const requests = () => gate.requests.filter(({ path }) => path.endsWith('/cancel')).length;
    const before = requests();
    // It goes on asking; each vote was signed, until that is too often.
    expect((await asked(wireOf('Reject', 1n))).exit).not.toBe(REFUSED);
    expect(requests()).toBeGreaterThan(before + 1);
    gate.fate = () => 'pass';
    const ended = await operator.run(...cancelWords(operator, id));
    expect([ended.exit, JSON.parse(ended.stdout)]).toMatchObject([0, OVER]);
    await operator.leave();
  });
});
