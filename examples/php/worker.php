<?php

// Counts the lines, words and bytes of a text, with the helper.

require __DIR__ . '/oarlock.php';

Oarlock\job('Count', function (Oarlock\Job $job) {
    $path = $job->data->path ?? null;
    if ($path !== null && !file_exists($path)) {
        throw new Oarlock\Fail("$path is not there", group: 'no-such-file');
    }
    $text = $path !== null ? file_get_contents($path) : $job->data->text
        ?? throw new Oarlock\Fail('neither a path nor a text', group: 'bad-payload');
    $job->progress(50, 'read ' . strlen($text) . ' bytes');
    $job->ack(data: [
        'lines' => substr_count($text, "\n"),
        'words' => preg_match_all('/[^ \t\n\x0b\f\r]+/', $text),
        'bytes' => strlen($text),
    ]);
});

Oarlock\serve();
