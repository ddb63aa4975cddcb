/** Usage errors: nothing is opened, called or stored, and the error names the wrong word. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChainReader } from '../../../../src/chain/chain.js';
import { honestWorld } from '../../../attacks/world.js';
import { fakeService } from '../../../support/fake-service.js';
import { testCli } from '../../../support/in-process.js';
import { batchIndex, flywheel, multisig, owner, ownerKeypair } from '../../batch-on-chain.js';
import { openedIn } from '../approval-world.js';
import { nodeOf } from '../past-batch.js';
import { aBatch, refusal, reply } from '../single-command.js';

const ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';
const BURN = 'burn --type T --proof {} --amount 1';
const KEY = '--keypair owner.json';
const REGISTER = `register --yes --cluster devnet --mint ${flywheel.mint} --owner ${owner} --operator-keypair owner.json`;
const DIGEST = `sha256:${'0'.repeat(64)}`;

const CASES: readonly (readonly [words: string, code: string, names: string])[] = [
  ['brun', 'ERR_USAGE', 'brun'],
  ['burn', 'ERR_USAGE', '--amount <n>'],
  ['--output xml whoami', 'ERR_USAGE', 'human, json, ndjson or csv'],
  ['whoami --output csv', 'ERR_USAGE', '--output csv'],
  ['whoami --timeout soon', 'ERR_USAGE', '--timeout'],
  ['whoami --local --api-url https://a.example', 'ERR_USAGE', 'cannot be combined'],
  ['whoami --max-priority-fee 10000001', 'ERR_USAGE', '--max-priority-fee'],
  ['whoami --commitment processed', 'ERR_USAGE', '"finalized"'],
  ['help nothing', 'ERR_USAGE', 'nothing'],

  [`${BURN} --once --idempotency-key k`, 'ERR_USAGE', '--once'],
  [`${BURN} --again`, 'ERR_USAGE', '--once'],
  [`${BURN} --idempotency-key ${'x'.repeat(256)}`, 'ERR_USAGE', '--idempotency-key'],
  ['history --since tomorrow', 'ERR_INPUT_INVALID', '--since'],
  ['history --since 1h --until 24h', 'ERR_INPUT_INVALID', '--since'],
  ['history --status FAILED --action AIRDROP', 'ERR_USAGE', '--status'],
  ['burn-batch none.json', 'ERR_INPUT_INVALID', 'none.json'],
  ['burn-batch burns.json --again --rest', 'ERR_USAGE', '--rest'],
  [`burn-batch burns.json --again --idempotency-key ${ID}`, 'ERR_USAGE', '--again'],
  ['burn-batch burns.json --idempotency-key order-1', 'ERR_USAGE', 'UUID'],
  ['burn-batch burns.json --failed-out no/such/f.json', 'ERR_INPUT_INVALID', 'no/such'],

  ['batch init none.json', 'ERR_INPUT_INVALID', 'none.json'],
  ['batch init p.json --again --rest', 'ERR_USAGE', '--rest'],
  ['batch init p.json --again --idempotency-key k', 'ERR_USAGE', '--again'],
  ['batch init p.json --rest', 'ERR_INPUT_INVALID', 'does not have this file'],
  ['batch init p.json --failed-out failed.CSV', 'ERR_INPUT_INVALID', 'failed.CSV'],
  [`batch run p.json ${KEY}`, 'ERR_USAGE', '--yes'],
  [`batch run p.json ${KEY} --yes --rest --again`, 'ERR_USAGE', '--rest'],
  [`batch run p.json ${KEY} --yes --rest`, 'ERR_INPUT_INVALID', 'does not have this file'],
  ['batch run p.json --yes', 'ERR_KEYPAIR_INVALID', 'No keypair'],
  [`batch run owner.json ${KEY} --yes`, 'ERR_INPUT_INVALID', 'owner.json'],
  [`batch approve ${ID} --wallet ${KEY}`, 'ERR_USAGE', '--keypair'],
  [`batch approve ${ID} --wallet --out s.json`, 'ERR_USAGE', '--out'],
  [`batch execute ${ID}`, 'ERR_USAGE', 'has not approved the batch on chain'],
  [`batch execute ${ID} --signed-tx base64?`, 'ERR_INPUT_INVALID', '--signed-tx'],
  [`batch execute ${ID} --signed-tx @none.json`, 'ERR_INPUT_INVALID', 'none.json'],
  [`batch execute ${ID} --signed-tx {"signedTx":1}`, 'ERR_INPUT_INVALID', '--signed-tx'],
  [
    `batch execute ${ID} --signed-tx {"batchId":"00000000-0000-4000-8000-000000000001","signedTx":"AgAA"}`,
    ...['ERR_INPUT_INVALID', '00000000-0000-4000-8000-000000000001'],
  ] as [string, string, string],
  [`batch execute ${ID} --signed-tx AgAA --approval a.json`, 'ERR_USAGE', '--approval'],
  [`batch execute ${ID} --approval a.json`, 'ERR_KEYPAIR_INVALID', 'No keypair'],
  ['batch execute 1 --signed-tx AgAA', 'ERR_INPUT_INVALID', '"1"'],
  [`batch cancel b-1`, 'ERR_INPUT_INVALID', '"b-1"'],
  [`batch cancel ${ID} --keypair ${'5'.repeat(88)}`, 'ERR_KEYPAIR_INVALID', '--keypair'],
  [`batch status ${ID} --wait x`, 'ERR_USAGE', '--wait'],
  ['batch list --limit 0', 'ERR_INPUT_INVALID', '--limit'],
  ['batch list --limit 100001', 'ERR_INPUT_INVALID', '--limit'],
  ['batch list --recipient me', 'ERR_INPUT_INVALID', '--recipient'],
  [`batch verify ${ID}`, 'ERR_USAGE', '--expect'],
  [`batch verify --expect ${DIGEST}`, 'ERR_USAGE', '--batch-index'],
  [`batch verify ${ID} --batch-index 7 --expect ${DIGEST}`, 'ERR_USAGE', '--batch-index'],
  [`batch verify --batch-index 0 --expect ${DIGEST}`, 'ERR_USAGE', '--batch-index'],
  [`batch verify --batch-index 18446744073709551616 --expect ${DIGEST}`, 'ERR_USAGE', '--batch-index'],
  ['proof verify --tx s --proof p.json --amount 1 --expect b.json', 'ERR_USAGE', '--expect'],
  ['pending forget', 'ERR_USAGE', 'flywheel pending forget'],
  ['pending forget none --yes', 'ERR_INPUT_INVALID', '"none"'],
  [`pending forget ${'x'.repeat(100)} --yes`, 'ERR_INPUT_INVALID', `"${'x'.repeat(40)}"`],
  ['pending list x', 'ERR_USAGE', 'flywheel pending list'],

  ['local init --decimals 19', 'ERR_INPUT_INVALID', '--decimals'],
  ['local init --supply 1,000', 'ERR_INPUT_INVALID', '--supply'],
  ['local init --min-operator-sol 0.0000000001', 'ERR_INPUT_INVALID', '--min-operator-sol'],
  [`local init --proof-type ${'T'.repeat(65)}`, 'ERR_INPUT_INVALID', '--proof-type'],
  ['local init --owner-keypair none.json', 'ERR_KEYPAIR_INVALID', 'none.json'],
  ['local init --squads-program none.so', 'ERR_INPUT_INVALID', 'none.so'],
  ['local fund', 'ERR_USAGE', '--tokens'],
  ['local fund --tokens -1', 'ERR_INPUT_INVALID', '--tokens'],
  ['keys revoke key-1 --after=24', 'ERR_INPUT_INVALID', '--after'],
  ['keys revoke key-1 --after=-1h', 'ERR_INPUT_INVALID', '--after'],
  ['report --by year', 'ERR_INPUT_INVALID', '--by'],
  ['serve --port 65536', 'ERR_INPUT_INVALID', '--port'],
  ['serve --shutdown-grace 1h', 'ERR_INPUT_INVALID', '--shutdown-grace'],
  ['serve --rate burn=fast', 'ERR_INPUT_INVALID', '--rate'],
  ['serve --rate burn=1/s --rate burn=2/s', 'ERR_INPUT_INVALID', '--rate'],
  [`${REGISTER} --multisig nobody`, 'ERR_INPUT_INVALID', '--multisig'],
  [`${REGISTER} --vault-index 256`, 'ERR_INPUT_INVALID', '--vault-index'],
  [`${REGISTER} --daily-burn much`, 'ERR_INPUT_INVALID', '--daily-burn'],
  [`${REGISTER} --name \u00a0`, 'ERR_INPUT_INVALID', '--name'],
  [`${REGISTER} --burn-wallet missing.json`, 'ERR_KEYPAIR_INVALID', 'missing.json'],
  [`${REGISTER} --api-url https://api.example`, 'ERR_USAGE', 'data directory'],
  [`${REGISTER} --operator ${owner}`, 'ERR_USAGE', '--operator'],
  [`${REGISTER} --operator-signer kms`, 'ERR_USAGE', '--operator-signer'],
  [`${REGISTER} --burn-wallet ${owner}`, 'ERR_USAGE', 'address'],
  ['profile add ../x', 'ERR_INPUT_INVALID', '1 to 64'],
  ['profile add main --api-url ftp://a', 'ERR_CONFIG_INVALID', '--api-url'],
  [`profile add main --owner ${'1'.repeat(32)}`, 'ERR_USAGE', '--multisig'],
  ['profile add p --rpc-url devnett', 'ERR_CONFIG_INVALID', '--rpc-url'],
  ['profile add p --rpc-url wss://rpc.example.com', 'ERR_CONFIG_INVALID', '--rpc-url'],
  ['profile add p --rpc-url devnet --quorum 2', 'ERR_USAGE', '2 RPC nodes'],
  ['profile add p --rpc-url mainnet --rpc-url mainnet-beta --quorum 2', 'ERR_USAGE', '2 RPC nodes'],
  ['profile add p --quorum 0', 'ERR_USAGE', '--quorum'],
];

describe('what is refused', () => {
  it.each(CASES)('%s', async (line, code, names) => {
    const service = fakeService();
    service.answer('getBatch', () => reply(aBatch({ multisig, batchIndex: String(batchIndex) })));
    const { history } = nodeOf(new Map());
    const world = openedIn(honestWorld());
    const opened = {
      ...world,
      chain: { ...(world.chain as ChainReader), history },
      trusted: async () => flywheel,
      service: service.service,
    };
    const cli = testCli({ opened, service });
    const burn = { type: 'T', proof: {}, burnAmount: 1, persistOnchain: false };
    const pipeline = { type: 'T', payload: {}, actions: [{ action: 'BURN', amount: 1 }] };
    for (const [name, value] of [
      ['burns.json', [burn]],
      ['p.json', [pipeline]],
      ['owner.json', [...ownerKeypair]],
    ] as const)
      writeFileSync(join(cli.home, name), JSON.stringify(value), { mode: 0o600 });
    const [exit, error, message] = await refusal(cli, ...line.split(' '));
    expect([exit, error, message]).toEqual([2, code, expect.stringContaining(names)]);
    expect(service.calls.filter(({ operation }) => operation !== 'getBatch')).toEqual([]);
    expect(await cli.pending()).toEqual([]);
  });
});
