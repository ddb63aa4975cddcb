/** The one part of the Squads SDK that is used, in a module of its own: only that much of it is put into the program. */
export { accounts as squadsAccounts } from '@sqds/multisig';
