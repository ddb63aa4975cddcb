/** Links to an explorer beside what they are about: on a terminal only, and where the chain is a public one. */
import { type ExplorerPage, explorerLink } from '../../chain/explorer.js';
import type { Style } from '../output/color.js';
import type { Field } from '../output/table.js';

/** The line below a transaction or an address, or none. */
export const linkFields = (style: Style, page: ExplorerPage, id: string): readonly Field[] =>
  style.explorer === null ? [] : [['', explorerLink(style.explorer, page, id)]];
