/** The fields of a batch from set-up to both end states (service specification, section 2.5). */
import { createHash } from 'node:crypto';
import { PublicKey } from '@solana/web3.js';
import { accounts, getTransactionPda, getVaultPda } from '@sqds/multisig';
import { beforeAll, expect } from 'vitest';
import type { Api, Batch, BundleExecution, InitBatchResult } from './api.js';
import { it, running } from './cases.js';
import { accountInfoOf, landedRecord } from './chain-reading.js';
import type { Project } from './in-process-service.js';
import { approved, burning } from './requests.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ISO_DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const DECIMAL_INTEGER = /^(0|[1-9]\d*)$/;
const REQUIRED = [
  'batchIndex',
  'dateCreated',
  'dateUpdated',
  'flywheelId',
  'id',
  'mintAddress',
  'multisig',
  'status',
  'tokenId',
  'vaultAddress',
  'vaultIndex',
];

/** One batch of six pipelines that is executed, and one that fails in its second bundle. */
interface Course {
  readonly project: Project;
  readonly init: InitBatchResult;
  readonly finalized: Batch;
  readonly executed: Batch;
  readonly failed: Batch;
}

async function coursesOf(api: Api): Promise<Course> {
  const project = await api.register({ vaultTokens: '30' });
  const execute = async (init: InitBatchResult): Promise<Batch> => {
    (await api.executeBatch(project, approved(project, init))).done();
    return (await api.getBatch(project, init.batch.id)).done();
  };
  const init = (await api.initBatch(project, burning(1, 2, 3, 4, 5, 6))).done();
  // The vault has enough for either batch at set-up, but not for both.
  const failing = (await api.initBatch(project, burning(1, 1, 1, 1, 1, 9))).done();
  const finalized = (await api.getBatch(project, init.batch.id)).done();
  return { project, init, finalized, executed: await execute(init), failed: await execute(failing) };
}

/** Every bundle landed as reported; its id is the one that block engines use. */
async function expectLanded(api: Api, bundles: readonly BundleExecution[]): Promise<readonly string[]> {
  for (const { bundleId, txHashes } of bundles) {
    expect(bundleId).toBe(createHash('sha256').update(txHashes.join(',')).digest('hex'));
    expect(txHashes.length).toBeGreaterThan(0);
    expect(txHashes.length).toBeLessThanOrEqual(4);
    for (const txHash of txHashes) expect((await landedRecord(api, txHash)).error).toBeNull();
  }
  return bundles.flatMap(({ txHashes }) => txHashes);
}

export function batchFields(): void {
  let course: Course;
  const inEachState = (): readonly Batch[] => [course.finalized, course.executed, course.failed];

  beforeAll(async () => {
    course = await coursesOf(running());
  });

  it('2.5: the batch has the fields of the table and no others', () => {
    const fields = inEachState().map((batch) => Object.keys(batch).sort());
    expect(fields).toEqual([
      [...REQUIRED, 'initResult'].sort(),
      [...REQUIRED, 'executeResult', 'initResult'].sort(),
      [...REQUIRED, 'executeResult', 'initResult'].sort(),
    ]);
  });

  it('2.5: id — "string (UUID): Batch identifier."', () => {
    for (const { id } of inEachState()) expect(id).toMatch(UUID);
    expect(course.executed.id).toBe(course.init.batch.id);
    expect(course.failed.id).not.toBe(course.executed.id);
  });

  it('2.5: flywheelId, tokenId, mintAddress — "Flywheel the batch belongs to.", its token and the mint of that', () => {
    const { flywheelId, tokenId, mintAddress } = course.project;
    for (const batch of inEachState()) expect(batch).toMatchObject({ flywheelId, tokenId, mintAddress });
  });

  it('2.5, 3: status — "string, enum: Current batch status."', () => {
    expect(inEachState().map(({ status }) => status)).toEqual(['FINALIZED', 'EXECUTED', 'FAILED']);
  });

  it('2.5: batchIndex — "string: Multisig batch index used for execution."', async () => {
    for (const { batchIndex } of inEachState()) expect(batchIndex).toMatch(/^[1-9]\d*$/);
    const { multisig, batchIndex } = course.failed;
    const multisigPda = new PublicKey(multisig);
    const [at] = getTransactionPda({ multisigPda, index: BigInt(batchIndex) });
    // A failed batch keeps its accounts.
    const [batch] = accounts.Batch.fromAccountInfo(await accountInfoOf(running(), at));
    expect([batch.index.toString(), batch.multisig.toBase58(), batch.size]).toEqual([
      batchIndex,
      multisig,
      6,
    ]);
  });

  it('2.5: vaultIndex — "string: Vault index within the multisig."', () => {
    for (const { vaultIndex } of inEachState()) {
      expect(vaultIndex).toMatch(DECIMAL_INTEGER);
      expect(vaultIndex).toBe(String(course.project.vaultIndex));
    }
  });

  it('2.5: multisig — "Multisig wallet address."', async () => {
    const { project } = course;
    for (const { multisig } of inEachState()) expect(multisig).toBe(project.multisig);
    const [multisig] = accounts.Multisig.fromAccountInfo(await accountInfoOf(running(), project.multisig));
    expect(multisig.members.map(({ key }) => key.toBase58()).sort()).toEqual(
      [project.owner, project.operator].sort(),
    );
  });

  it('2.5: vaultAddress — "Vault address for token operations."', () => {
    for (const { vaultAddress, multisig, vaultIndex } of inEachState()) {
      const [vault] = getVaultPda({ multisigPda: new PublicKey(multisig), index: Number(vaultIndex) });
      expect([vaultAddress, vaultAddress]).toEqual([vault.toBase58(), course.project.vaultAddress]);
    }
  });

  it('2.5, 3: initResult — "Present when status is FINALIZED or later." — from then on the same', () => {
    for (const { initResult } of inEachState()) expect(initResult).toBeDefined();
    expect(course.executed.initResult).toEqual(course.finalized.initResult);
  });

  it('2.5, 3: executeResult — "Present when status is EXECUTED or FAILED."', () => {
    expect(inEachState().map(({ executeResult }) => executeResult !== undefined)).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('2.5: dateCreated — "ISO 8601 date-time: Creation time."', () => {
    for (const { dateCreated } of inEachState()) expect(dateCreated).toMatch(ISO_DATE_TIME);
    expect(course.executed.dateCreated).toBe(course.finalized.dateCreated);
    expect(course.failed.dateCreated >= course.executed.dateCreated).toBe(true);
  });

  it('2.5: dateCreated — no later than the first block of the set-up, within seconds of it', async () => {
    const [first] = course.init.batch.initResult?.successfulExecutions ?? [];
    const { blockTimeMs } = await landedRecord(running(), first?.txHashes[0] ?? '');
    const distanceMs = blockTimeMs - Date.parse(course.finalized.dateCreated);
    expect([distanceMs > -1_000, distanceMs < 10_000]).toEqual([true, true]);
  });

  it('2.5: dateUpdated — "ISO 8601 date-time: Last update time."', () => {
    for (const { dateUpdated, dateCreated } of inEachState()) {
      expect(dateUpdated).toMatch(ISO_DATE_TIME);
      expect(dateUpdated >= dateCreated).toBe(true);
    }
    expect(course.executed.dateUpdated > course.finalized.dateUpdated).toBe(true);
  });

  const init = () => course.finalized.initResult ?? expect.fail();
  const executed = () => course.executed.executeResult ?? expect.fail();
  const failed = () => course.failed.executeResult ?? expect.fail();
  /** Transactions in the bundles before the bundle of the sixth, which fails. */
  const landed = () => 5 - (5 % running().service.bundleSize);

  it('2.5: init result — the fields of its table and no others', async () => {
    const { successfulExecutions, ...counts } = init();
    const { total } = counts;
    expect(total).toBeGreaterThan(1);
    // "Error message if setup failed", and only then.
    const batchIndex = Number(course.finalized.batchIndex);
    expect(counts).toEqual({ total, totalSuccessful: total, totalFailed: 0, batchIndex });
    expect(new Set(await expectLanded(running(), successfulExecutions)).size).toBe(total);
  });

  it('2.5: execute result — the fields of its table and no others', async () => {
    const { successfulExecutions: all, ...success } = executed();
    expect(success).toEqual({ total: 6, totalSuccessful: 6, totalFailed: 0 });
    const { successfulExecutions: some, ...failure } = failed();
    expect(failure).toEqual({
      ...{ total: 6, totalSuccessful: landed(), totalFailed: 6 - landed() },
      // "Transaction index where the failure occurred.", "Starting index of the failed transaction batch."
      ...{ failedOnTransactionIndex: 5, failedStartTransactionIndex: landed() },
      failedTxMsg: expect.stringMatching(/insufficient|0x1/i),
    });
    // "Successful bundles." with bundleId and txHashes.
    const hashes = [await expectLanded(running(), all), await expectLanded(running(), some)];
    expect(hashes.map((each) => new Set(each).size)).toEqual([6, landed()]);
  });
}
