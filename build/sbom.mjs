/** The bill of materials of a release: what is bundled and what is installed beside it, out of all that npm knows of the lock. */

const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/**
 * @param all - CycloneDX of the whole lock, as `npm sbom` writes it.
 * @param manifest - package.json.
 * @param bundled - packages that stand in dist.
 * @throws where one of them is not in the lock.
 */
export function releaseSbom(all, manifest, bundled) {
  const wanted = [
    ...bundled.map(({ name, version }) => ({ name, version, isBundled: true })),
    ...Object.entries(manifest.optionalDependencies).map(([name, version]) => ({
      name,
      version,
      isBundled: false,
    })),
  ];
  const components = wanted.map(({ name, version, isBundled }) => {
    const purl = purlOf(name, version);
    const component = all.components.find((one) => one.purl === purl);
    if (component === undefined) throw new Error(`${name} ${version} is not in the lock.`);
    return {
      ...component,
      // A package that stands in for another is in the lock under the other's name.
      name,
      scope: isBundled ? 'required' : 'optional',
      properties: [{ name: 'flywheel:bundled', value: String(isBundled) }],
    };
  });
  const root = { ...all.metadata.component, name: manifest.name, type: 'application' };
  return {
    ...all,
    metadata: { ...all.metadata, lifecycles: [{ phase: 'build' }], component: root },
    components,
    dependencies: [
      { ref: root['bom-ref'], dependsOn: components.map((one) => one['bom-ref']) },
      ...components.map((one) => ({ ref: one['bom-ref'], dependsOn: [] })),
    ],
  };
}
