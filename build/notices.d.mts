/** The shapes of what stands in `notices.mjs`, for those who check it. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An expression of SPDX. */
  readonly licence: string;
  readonly source: string | undefined;
  /** Of the licence. */
  readonly text: string;
}

export interface Metafile {
  readonly outputs: Readonly<Record<string, { readonly inputs: Readonly<Record<string, unknown>> }>>;
}

export const ALLOWED: readonly string[];
export function bundledPackages(metafiles: readonly Metafile[]): readonly BundledPackage[];
export function mayBeShipped(licence: string | undefined): boolean;
export function notices(packages: readonly BundledPackage[]): string;
