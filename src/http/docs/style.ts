/** How the page looks: wide and narrow, light and dark, on paper. */
export const STYLE = `
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--quiet:#575757;--line:#d4d4d4;--shade:#f4f4f4;--link:#0b57a4;--warn:#9a3412}
@media(prefers-color-scheme:dark){:root{--ink:#eaeaea;--paper:#161616;--quiet:#b0b0b0;--line:#444;--shade:#262626;--link:#8ab8ff;--warn:#fdba74}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{font:16px/1.55 system-ui,sans-serif;margin:0;color:var(--ink);background:var(--paper)}
a{color:var(--link)}
a:focus-visible,input:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:1rem;background:var(--paper);padding:.5rem}
.page{display:grid;grid-template-columns:17rem minmax(0,1fr);gap:2.5rem;max-width:82rem;margin:0 auto;padding:0 1.25rem}
nav{position:sticky;top:0;max-height:100vh;overflow:auto;padding:1.5rem 0;font-size:.875rem}
nav h2{font-size:.75rem;text-transform:uppercase;letter-spacing:.06em;color:var(--quiet);margin:1.25rem 0 .25rem}
nav ul{list-style:none;margin:0;padding:0}
nav a{display:block;padding:.15rem 0;text-decoration:none}
nav a:hover{text-decoration:underline}
input{font:inherit;width:100%;padding:.4rem .6rem;color:inherit;background:var(--paper);border:1px solid var(--quiet);border-radius:4px}
main{padding:1.5rem 0 6rem;min-width:0}
h1{line-height:1.2}
section{border-top:1px solid var(--line);margin-top:2.5rem;padding-top:1rem}
h2{overflow-wrap:anywhere;line-height:1.3}
h3{margin-bottom:.4rem}
code,pre{font:.875em/1.45 ui-monospace,Menlo,Consolas,monospace}
:not(pre)>code{background:var(--shade);padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}
pre{background:var(--shade);padding:.9rem;overflow:auto;border-radius:4px;margin:.5rem 0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9375rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--quiet)}
td:first-child code,td:nth-child(2) code{overflow-wrap:normal;white-space:nowrap}
td:last-child{min-width:14rem}
small{color:var(--quiet)}
dt{font-weight:600;margin-top:.4rem}
dd{margin:0 0 0 1.25rem}
.deprecated{color:var(--warn);font-weight:600}
[hidden]{display:none}
@media(max-width:56rem){
.page{display:block}
nav{position:static;max-height:none;padding-bottom:0}
main{padding-top:0}
}
@media(max-width:40rem){
thead{position:absolute;left:-999rem}
tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--line)}
td{display:inline;border:0;padding:0 .4rem 0 0}
td:empty{display:none}
td:last-child{display:block}
}
@media print{nav,.skip{display:none}.page{display:block}section{break-inside:avoid-page}pre{white-space:pre-wrap}}
`.trim();
