/** An engine in a temporary directory with a registered project, for tests that need the whole of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeypairSigner, generateKeypair, type Signer } from '../../src/chain/transaction/signer.js';
import { type OpenedEngine, openEngine } from '../../src/compose/engine.js';
import { createFileKeyring } from '../../src/compose/file-keyring.js';
import { homeFiles, writeHome } from '../../src/compose/home.js';
import type { RegisterInput, Registration } from '../../src/contract/admin.js';
import type { Call } from '../../src/contract/call.js';
import type { EngineLimits } from '../../src/engine/deps.js';
import { Secret } from '../../src/values/secret.js';
import { type Clock, systemClock } from '../../src/values/time.js';

export interface TestProject {
  readonly registration: Registration;
  readonly owner: Signer;
  readonly key: Secret;
  /** A call with this project's key. */
  call(more?: Partial<Call>): Call;
}

export interface TestEngine extends OpenedEngine {
  readonly dataDir: string;
  readonly project: TestProject;
  register(input?: Partial<RegisterInput>): Promise<TestProject>;
  /** A second engine on the same directory, as another process would open it. */
  reopen(): Promise<OpenedEngine>;
  destroy(): Promise<void>;
}

export const REGISTER_DEFAULTS: Omit<RegisterInput, 'owner'> = {
  name: 'Flywheel Test',
  symbol: 'FLY',
  decimals: 6,
  supply: '1000000000',
  tokenProgram: 'token',
  tokenGeneration: 'v1',
  vaultTokens: '1000000',
  vaultSol: '10',
  burnWalletTokens: '1000000',
  burnWalletSol: '10',
  proofTypes: ['PRODUCT_BUY', 'WATCH_AD'],
  scopes: ['burn', 'airdrop'],
  dailyBurn: null,
  dailyAirdrop: null,
};

/** Opens an engine in a fresh directory and registers one project. */
export async function openTestEngine(
  input: Partial<RegisterInput> = {},
  options: { readonly clock?: Clock; readonly limits?: Partial<EngineLimits> } = {},
): Promise<TestEngine> {
  const dataDir = mkdtempSync(join(tmpdir(), 'flywheel-'));
  const treasury = createFileKeyring(homeFiles(dataDir).keys).create().address;
  const home = { treasury, ownerKeypair: '', squadsProgram: false };
  writeHome(dataDir, home);
  const settings = {
    clock: options.clock ?? systemClock,
    ...(options.limits ? { limits: options.limits } : {}),
  };
  const opened = await openEngine(dataDir, home, settings);
  const register = (more: Partial<RegisterInput> = {}) => registerProject(opened, more);
  const project = await register(input);
  return {
    ...opened,
    dataDir,
    project,
    register,
    reopen: () => openEngine(dataDir, home, settings),
    destroy: async () => {
      await opened.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function registerProject(
  { engine }: OpenedEngine,
  input: Partial<RegisterInput>,
): Promise<TestProject> {
  const owner = createKeypairSigner(generateKeypair());
  const { registration, apiKey } = await engine.registerProject({
    ...REGISTER_DEFAULTS,
    owner: owner.address,
    ...input,
  });
  const key = new Secret(apiKey.key);
  return { registration, owner, key, call: (more = {}) => ({ credential: key, ...more }) };
}
