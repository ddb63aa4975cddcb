/** A registration on a cluster as people read it: what it will do before they agree, and what came of it. */

import type { Settings } from '../../compose/settings.js';
import type { RegistrationPlan, RegistrationResult, RegistrationStep } from '../../contract/registration.js';
import { commandLine } from '../operation/resume-line.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, wrapText } from '../output/table.js';
import { multisigFields, tokenFields } from './facts.js';
import { linkFields } from './links.js';
import { viewKeptKey } from './local.js';
import { solText } from './unit.js';

/** The cluster in words. */
export const clusterText = ({ name, genesisHash }: RegistrationPlan['cluster']): string =>
  `${name ?? 'another cluster'} (genesis ${genesisHash})`;

const STEP_NAMES: Readonly<Record<RegistrationStep['what'], string>> = {
  multisig: 'multisig',
  vaultTokenAccount: 'token account of the vault',
  burnTokenAccount: 'token account of the burn wallet',
};

/** Of what the registration makes. */
const LATER = 'new; its address is known after registration';

const stepFields = (steps: readonly RegistrationStep[]): readonly Field[] =>
  steps.flatMap(({ what, address, isThere, rentLamports }): readonly Field[] => [
    [STEP_NAMES[what], address ?? LATER],
    ['', isThere ? 'exists' : `to be created, rent ${solText(rentLamports)}`],
  ]);

const costFields = ({ costs }: RegistrationPlan): readonly Field[] => [
  ['rent', solText(costs.rentLamports)],
  ...(costs.squadsTreasury === null
    ? []
    : [
        ['Squads fee', solText(costs.squadsFeeLamports)] as const,
        ['  goes to', costs.squadsTreasury] as const,
      ]),
  ['transaction fees', solText(costs.feeLamports)],
  ...(costs.maxPriorityFeeLamports === '0'
    ? []
    : [['priority fee', `at most ${solText(costs.maxPriorityFeeLamports)}`] as const]),
  ['together', `at most ${solText(costs.totalLamports)}`],
  ['operator holds', solText(costs.operatorLamports)],
  ...(costs.missingLamports === '0' ? [] : [['still needed', solText(costs.missingLamports)] as const]),
];

const bullets = (texts: readonly string[], width: number): readonly string[] =>
  texts.flatMap((text) =>
    wrapText(text, Math.max(20, width - 2)).map((line, at) => `${at === 0 ? '- ' : '  '}${line}`),
  );

const part = (title: string, lines: readonly string[], style: Style): readonly string[] =>
  lines.length === 0 ? [] : ['', style.bold(title), ...lines];

/** What a registration will do. */
export const viewRegistrationPlan = (plan: RegistrationPlan, style: Style): readonly string[] => [
  style.bold(`Registration of ${plan.symbol} on ${clusterText(plan.cluster)}`),
  ...fieldLines(
    [
      ['owner', plan.owner],
      ['operator', `${plan.operator} (pays)`],
      ['burn wallet', plan.burnWallet ?? LATER],
      ['multisig', plan.multisig ?? LATER],
      [`vault ${plan.vaultIndex}`, plan.vault ?? LATER],
    ],
    style,
  ),
  ...part('On chain', fieldLines(stepFields(plan.steps), style), style),
  ...part('Costs', fieldLines(costFields(plan), style), style),
  ...part(
    'Members, rules and token',
    fieldLines([...multisigFields(plan.facts), ...tokenFields(plan.mint, plan.facts)], style),
    style,
  ),
  ...part('Cannot be undone', bullets(plan.irreversible, style.width), style),
  ...part(
    'Warnings',
    bullets(plan.warnings, style.width).map((line) => style.warn(line)),
    style,
  ),
];

/** A project that is registered. */
export const viewRegistered = (
  { cluster, registration, apiKey, txHash }: RegistrationResult,
  settings: Settings,
  style: Style,
): readonly string[] => [
  style.good(`${registration.symbol} is registered on ${clusterText(cluster)}.`),
  ...fieldLines(
    [
      ['multisig', registration.multisig],
      ...linkFields(style, 'address', registration.multisig),
      ['vault', `${registration.vaultAddress} (index ${registration.vaultIndex})`],
      ['burn wallet', registration.burnWallet],
      ['owner', registration.owner],
      ['operator', registration.operator],
      ...(txHash === null ? [] : [['transaction', txHash] as const, ...linkFields(style, 'tx', txHash)]),
    ],
    style,
  ),
  ...(apiKey === null ? [] : ['', ...viewKeptKey(apiKey, settings, style)]),
  '',
  ...wrapText('Commands with this data directory now use that cluster.', style.width),
  ...wrapText(
    'Next: send tokens and SOL to the burn wallet and to the vault. Check what has arrived:',
    style.width,
  ),
  `  ${commandLine(settings, 'vault')}`,
];
