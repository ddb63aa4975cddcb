/** A client over the types of openapi-typescript: reads, burns, and is refused. */
import { env, stdout } from 'node:process';
import createClient from 'openapi-fetch';
import type { paths } from './openapi-typescript.js';

const client = createClient<paths>({
  baseUrl: env['FLYWHEEL_URL'] ?? '',
  headers: { 'x-service-api-key': env['FLYWHEEL_API_KEY'] },
});
const current = await client.GET('/v1/flywheel/batch/current');
const burned = await client.POST('/v1/tokenomics/burn', {
  body: { type: 'PRODUCT_BUY', proof: { orderId: 'A-1' }, burnAmount: 2.5, persistOnchain: false },
});
const unknown = await client.GET('/v1/flywheel/batch/{batchId}', {
  params: { path: { batchId: '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11' } },
});
const hash: string | undefined = burned.data?.hash;
stdout.write(JSON.stringify([current.data, burned.data?.result, hash?.length, unknown.error?.error]));
