CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE asset (
    sha256 TEXT NOT NULL,
    location TEXT NOT NULL,
    media_type TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    size BIGINT NOT NULL,
    CONSTRAINT pk_asset PRIMARY KEY (sha256)
);

CREATE TABLE item (
    id INTEGER NOT NULL,
    prompt_id TEXT NOT NULL,
    part INTEGER NOT NULL,
    prompt TEXT NOT NULL,
    purpose TEXT NOT NULL,
    expected JSON NOT NULL,
    detail JSON NOT NULL,
    done INTEGER NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT pk_item PRIMARY KEY (id),
    CONSTRAINT uq_item_prompt_id_part UNIQUE (prompt_id, part)
);

CREATE INDEX item_by_purpose ON item (purpose, done);

CREATE TABLE person (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    password_hash TEXT,
    outside JSON NOT NULL,
    outside_key TEXT,
    session INTEGER NOT NULL,
    created BIGINT NOT NULL,
    consented BIGINT,
    training_tries INTEGER NOT NULL,
    trained BIGINT,
    withdrawn BIGINT,
    CONSTRAINT pk_person PRIMARY KEY (id),
    CONSTRAINT uq_person_name UNIQUE (name),
    CONSTRAINT uq_person_outside_key UNIQUE (outside_key)
);

CREATE TABLE study (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    config JSON NOT NULL,
    seed BIGINT NOT NULL,
    created BIGINT NOT NULL,
    paused BIGINT,
    CONSTRAINT pk_study PRIMARY KEY (id)
);

CREATE TABLE assignment (
    id INTEGER NOT NULL,
    person_id INTEGER NOT NULL,
    item_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    state TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    finished BIGINT,
    CONSTRAINT pk_assignment PRIMARY KEY (id),
    CONSTRAINT fk_assignment_item_id FOREIGN KEY(item_id) REFERENCES item (id),
    CONSTRAINT fk_assignment_person_id FOREIGN KEY(person_id) REFERENCES person (id),
    CONSTRAINT uq_assignment_person_id_item_id UNIQUE (person_id, item_id)
);

CREATE INDEX assignment_by_item ON assignment (item_id, state, expires);

CREATE INDEX ix_assignment_person_id ON assignment (person_id);

CREATE TABLE event (
    id INTEGER NOT NULL,
    person_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    detail JSON NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT pk_event PRIMARY KEY (id),
    CONSTRAINT fk_event_person_id FOREIGN KEY(person_id) REFERENCES person (id)
);

CREATE INDEX ix_event_person_id ON event (person_id);

CREATE TABLE invitation (
    id INTEGER NOT NULL,
    token_hash TEXT NOT NULL,
    role TEXT NOT NULL,
    label TEXT NOT NULL,
    is_shared BOOLEAN NOT NULL,
    person_id INTEGER,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    revoked BIGINT,
    CONSTRAINT pk_invitation PRIMARY KEY (id),
    CONSTRAINT fk_invitation_person_id FOREIGN KEY(person_id) REFERENCES person (id),
    CONSTRAINT uq_invitation_token_hash UNIQUE (token_hash)
);

CREATE TABLE item_image (
    id INTEGER NOT NULL,
    item_id INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    position INTEGER NOT NULL,
    image TEXT NOT NULL,
    model TEXT NOT NULL,
    is_reference BOOLEAN NOT NULL,
    CONSTRAINT pk_item_image PRIMARY KEY (id),
    CONSTRAINT fk_item_image_item_id FOREIGN KEY(item_id) REFERENCES item (id),
    CONSTRAINT fk_item_image_sha256 FOREIGN KEY(sha256) REFERENCES asset (sha256),
    CONSTRAINT uq_item_image_item_id_position UNIQUE (item_id, position)
);

CREATE INDEX ix_item_image_item_id ON item_image (item_id);

CREATE TABLE adjudication (
    id INTEGER NOT NULL,
    item_id INTEGER NOT NULL,
    item_image_id INTEGER,
    person_id INTEGER NOT NULL,
    value JSON NOT NULL,
    created BIGINT NOT NULL,
    CONSTRAINT pk_adjudication PRIMARY KEY (id),
    CONSTRAINT fk_adjudication_item_id FOREIGN KEY(item_id) REFERENCES item (id),
    CONSTRAINT fk_adjudication_item_image_id FOREIGN KEY(item_image_id) REFERENCES item_image (id),
    CONSTRAINT fk_adjudication_person_id FOREIGN KEY(person_id) REFERENCES person (id),
    CONSTRAINT uq_adjudication_item_id_item_image_id UNIQUE (item_id, item_image_id)
);

CREATE TABLE answer (
    id INTEGER NOT NULL,
    assignment_id INTEGER NOT NULL,
    item_image_id INTEGER,
    client_id TEXT NOT NULL,
    value JSON NOT NULL,
    seconds DOUBLE NOT NULL,
    created BIGINT NOT NULL,
    current BOOLEAN NOT NULL,
    CONSTRAINT pk_answer PRIMARY KEY (id),
    CONSTRAINT fk_answer_assignment_id FOREIGN KEY(assignment_id) REFERENCES assignment (id),
    CONSTRAINT fk_answer_item_image_id FOREIGN KEY(item_image_id) REFERENCES item_image (id),
    CONSTRAINT uq_answer_client_id UNIQUE (client_id)
);

CREATE INDEX answer_by_assignment ON answer (assignment_id, item_image_id, current);
