// Makes a page live. All that it shows reads and works without this file. What comes from the server is set as text, as
// one of a few harmless attributes, or is a copy of a <template> of the page; nothing is ever parsed as HTML.
(() => {
  'use strict';
  const root = document.documentElement;
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const mayBeSet = new Set(['d', 'class', 'width', 'title', 'datetime', 'aria-label']);
  for (const element of all('[data-script]')) element.hidden = false;
  for (const element of all('[data-without-script]')) element.hidden = true;
  // Moments are told in UTC; behind them stands what the clock says where the viewer is.
  for (const element of all('time[datetime]')) {
    const at = new Date(element.dateTime);
    if (isNaN(at) || at.getTimezoneOffset() === 0) continue;
    const [day, hour] = at.toLocaleString('sv').split(' ');
    element.textContent += ` (${element.dateTime.startsWith(day) ? '' : day + ' '}${hour} here)`;
  }

  // ---- what changes
  const show = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };
  const live = key => all(`[data-live="${CSS.escape(key)}"]`);
  const setAttribute = (path, value) => {
    const dot = path.lastIndexOf('.');
    const name = path.slice(dot + 1);
    if (!mayBeSet.has(name)) return;
    for (const element of live(path.slice(0, dot))) {
      if (element.getAttribute(name) !== value) element.setAttribute(name, value);
    }
  };
  // The rows of a list are named by numbers: those that came are copies of its template, in which # is the number.
  const setList = (name, keys) => {
    const list = one(`[data-list="${CSS.escape(name)}"]`);
    const pattern = one(`template[data-for="${CSS.escape(name)}"]`);
    if (!list || !pattern) return;
    const there = new Map(all('[data-key]', list).map(row => [row.dataset.key, row]));
    for (const [key, row] of there) if (!keys.includes(key)) row.remove();
    for (const key of keys) {
      if (there.has(key) || !/^\d+$/.test(key)) continue;
      const row = pattern.content.cloneNode(true);
      for (const element of all('*', row)) {
        for (const name of ['data-live', 'data-key', 'href', 'action']) {
          if (element.hasAttribute(name)) element.setAttribute(name, element.getAttribute(name).replaceAll('%23', key).replaceAll('#', key));
        }
      }
      list.append(row);
    }
  };
  // Rows stay under the pointer: that others would be there now is only said.
  const setRows = (name, print) => {
    const rows = one(`[data-rows="${CSS.escape(name)}"]`);
    const note = one('#changed');
    if (rows && note && rows.dataset.print !== print) note.hidden = false;
  };
  const setLines = (name, lines) => {
    const log = one(`[data-log="${CSS.escape(name)}"]`);
    const pattern = one(`template[data-for="${CSS.escape(name)}"]`);
    if (!log || !pattern) return;
    const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    for (const line of lines) {
      const row = pattern.content.cloneNode(true);
      for (const [part, text] of Object.entries(line)) {
        const element = one(`[data-part="${CSS.escape(part)}"]`, row);
        if (element) element.textContent = text;
      }
      log.append(row);
    }
    while (log.children.length > 400) log.firstElementChild.remove();
    find();
    if (follows) log.scrollTop = log.scrollHeight;
  };
  const apply = frame => {
    const texts = Object.entries(frame.set || {});
    for (const [key, text] of texts) if (key.startsWith('list:')) setList(key.slice(5), text.split(' '));
    for (const [key, text] of texts) {
      if (key.startsWith('rows:')) setRows(key.slice(5), text);
      else if (!key.startsWith('list:')) for (const element of live(key)) show(element, text);
    }
    for (const [path, value] of Object.entries(frame.attr || {})) setAttribute(path, value);
    for (const [name, lines] of Object.entries(frame.lines || {})) setLines(name, lines);
  };

  // ---- the one stream of a tab that is looked at
  const view = document.body.dataset.view;
  const address = view && `${root.dataset.prefix}/live?view=${encodeURIComponent(view)}`;
  const word = one('#live'), holder = one('#hold');
  let stream = null, poll = 0, asked = 0, held = false;
  const say = (mark, text) => { if (word) word.textContent = `${mark} ${text}`; };
  const close = () => {
    if (stream) stream.close();
    stream = null;
    clearTimeout(poll);
  };
  const ask = async () => { // where there is no room for one stream more
    try {
      const reply = await fetch(`${address}&once=1`, { headers: { 'X-Oarlock': '1' } });
      if (reply.status === 401) { say('○', 'not logged in any more'); return; } // asking on would look like guessing
      if (reply.ok) { apply(await reply.json()); say('●', 'every 10 s'); } else say('○', 'not live');
    } catch { say('○', 'not live: no answer'); }
    poll = setTimeout(++asked % 6 ? ask : open, 10000); // there may be room by then
  };
  const open = () => {
    if (!address || stream || held || document.hidden) return;
    stream = new EventSource(address);
    stream.onopen = () => say('●', 'live');
    stream.onmessage = event => apply(JSON.parse(event.data));
    stream.onerror = () => {
      say('○', 'not live: no answer');
      if (stream && stream.readyState === EventSource.CLOSED) { close(); ask(); }
    };
  };
  const hold = () => {
    held = !held;
    if (holder) { holder.setAttribute('aria-pressed', String(held)); holder.textContent = held ? '▶ go on' : '‖ hold'; }
    if (held) { close(); say('‖', 'held'); } else open();
  };
  if (holder) holder.addEventListener('click', hold);
  document.addEventListener('visibilitychange', () => document.hidden ? close() : open());
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  if (address) open(); else if (holder) holder.hidden = true;

  // ---- helpers on the page
  const finder = one('[data-find]');
  const find = () => {
    if (!finder) return;
    const wanted = finder.value.toLowerCase();
    for (const row of all(`[data-log="${CSS.escape(finder.dataset.find)}"] > *`)) {
      row.hidden = wanted !== '' && !row.textContent.toLowerCase().includes(wanted);
    }
  };
  if (finder) finder.addEventListener('input', find);
  for (const log of all('[data-log]')) log.scrollTop = log.scrollHeight;
  document.addEventListener('click', event => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    const from = document.getElementById(button.dataset.copy);
    if (from) navigator.clipboard.writeText(from.textContent).then(() => { button.textContent = 'copied'; }, () => { button.textContent = 'not allowed here'; });
  });
  for (const box of all('[data-all]')) {
    box.addEventListener('change', () => { for (const each of all(`input[name="${CSS.escape(box.dataset.all)}"]`)) each.checked = box.checked; });
  }
  const onward = one('form[data-onward]'); // what is left of a deed on many jobs
  if (onward) onward.requestSubmit();

  // ---- keys
  if (root.dataset.keys === 'off') return;
  const places = { o: '/', p: '/pools', q: '/queues', f: '/failures', s: '/supervisors', r: '/recurring' };
  let goes = 0;
  const rows = () => all('main [data-row]');
  const step = by => {
    const at = rows(), now = at.findIndex(row => row.contains(document.activeElement));
    const next = at[Math.max(0, Math.min(at.length - 1, now < 0 ? (by > 0 ? 0 : at.length - 1) : now + by))];
    if (!next) return;
    const to = one('a, button, input', next);
    if (to) to.focus();
    for (const row of at) row.classList.toggle('chosen', row === next);
  };
  const mark = () => {
    const row = document.activeElement && document.activeElement.closest('[data-row]');
    const box = row && one('input[type="checkbox"]', row);
    if (box) box.checked = !box.checked;
  };
  const keys = {
    '/': () => one('#search').focus(), 'j': () => step(1), 'k': () => step(-1), 'x': mark, '.': hold,
    'r': () => location.reload(), '?': () => { location.href = `${root.dataset.prefix}/help`; },
    'g': () => { goes = Date.now(); },
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = event.target;
    if (at.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) && at.type !== 'checkbox') return;
    const going = Date.now() - goes < 1500;
    goes = 0;
    if (going && Object.hasOwn(places, event.key)) location.href = root.dataset.prefix + places[event.key];
    else if (Object.hasOwn(keys, event.key)) keys[event.key]();
    else return;
    event.preventDefault();
  });
})();
