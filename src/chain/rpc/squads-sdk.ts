/** A module of its own, so that the bundler includes only this part of the Squads SDK. */
export { accounts as squadsAccounts } from '@sqds/multisig';
